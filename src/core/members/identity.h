/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_MEMBER_IDENTITY_H
#define MPIIO_MEMBER_IDENTITY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* The location of a byte of an assembled file. */
struct mpiio_member_place {
    int64_t member;       /* -1: in a hole */
    int64_t displacement; /* in the member's file */
    int64_t length;       /* bytes from there on that are contiguous in both, or in the hole */
};

/* Two members whose paths name one file, by number, first < second. */
struct mpiio_member_twins {
    int64_t first, second;
};

/*
 * The identity of a member's file: which file it was when the members were assembled. A member is
 * opened by its path whenever it is needed, and another user may own the folder. So every later use
 * of the path begins with a comparison (src/DESIGN.md, "What a mount opens, and when").
 *
 * Device and inode alone do not identify a file, because a new file may get the inode of a removed
 * one. The time of birth distinguishes these. If a filesystem has none, the owner must be the same.
 * The mode may change, and so may the owner if there is a time of birth: these are rights, not
 * identity.
 */
struct mpiio_member_identity {
    uint64_t device, inode;
    int64_t birth; /* ns since 1970; 0: the filesystem has none, or does not keep it */
    uid_t owner;
    bool known;           /* false: no file, or the member has no data; then no file is the same */
    atomic_bool reported; /* another file has the name, and this was reported */
};

/*
 * Returns a new descriptor (O_PATH) of the regular file at path, following symbolic links. Sets *st
 * to its state and *identity to its identity. Opens no device and no FIFO. On failure returns the
 * error of open(2), or -EINVAL if it is not a regular file. Local, thread-safe.
 */
int mpiio_member_identify(const char *path, struct stat *st,
                          struct mpiio_member_identity *identity);

/*
 * Checks the file at path without opening it. Returns 0 and sets *st to its state if it is the
 * identified file. Returns -ESTALE if it is another one, or the error of stat(2). Local,
 * thread-safe.
 */
int mpiio_member_look(const char *path, const struct mpiio_member_identity *identity,
                      struct stat *st);

/* Like mpiio_member_look, but returns a new descriptor (O_PATH) of the file. */
int mpiio_member_find(const char *path, const struct mpiio_member_identity *identity);

/*
 * Finds two of the count members whose files are the same: the pair with the lowest second. Skips
 * members without a file. Returns 1; 0 if all files are different; or -ENOMEM. Local, thread-safe.
 */
int mpiio_member_find_twins(const struct mpiio_member_identity *identities, int64_t count,
                            struct mpiio_member_twins *twins);

#endif
