/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_ASSEMBLED_H
#define MPIIO_ASSEMBLED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/file/file.h"
#include "identity.h"
#include "viewspec/members/members.h"

/* The values that holes of an assembled file read as. Immutable once made. If the struct is zeroed,
   holes read as zeros. */
struct mpiio_fills {
    struct vs_fill *list; /* owned */
    size_t count;
};

/*
 * Many files as one: a file that consists of the bytes of its members. Each byte has a position in
 * the whole and in the file of its member. The file is read and written through the plans of its
 * members (file.h), which change only the given bytes. So it has the properties of a single file:
 * no data is read to be written back, and acknowledged data is in the members.
 *
 * The length of the file, and the number of bytes of each member, stay as they were when it was
 * assembled. A read of bytes that a member has lost since then returns -EIO. A member whose path
 * now names another file (identity.h) is not opened: -ESTALE. A member that was missing is never
 * opened.
 */

/*
 * Assembles the members, which are borrowed. Checks that they exist, fit together, and can be
 * opened with flags of open(2): O_RDONLY or O_RDWR. With O_CREAT, creates those that are missing
 * (assembled_private.h). Returns 0, or a negative errno with why filled; its text names the first
 * bad member. Returns -EROFS for a writable file if members may overlap or two of them are one
 * file. Takes ownership of fills.list, also on error. The caller owns the new file.
 */
int mpiio_assemble(const struct vs_members *members, int flags, struct mpiio_fills fills,
                   struct mpiio_file **file, struct vs_error *why);

/* Returns a digest of the lengths of the members, which distinguishes two assemblies of one spec.
   Local, thread-safe. */
uint64_t mpiio_assembled_digest(const struct mpiio_file *file);

/* Returns the number of bytes of a member in the whole. 0: its file is not used. Local,
   thread-safe. */
int64_t mpiio_assembled_held(const struct mpiio_file *file, int64_t member);

/* Returns the number of the first member that has bytes of the whole. Its file has the locks of
   all. Local, thread-safe. */
int64_t mpiio_assembled_first(const struct mpiio_file *file);

/*
 * Returns a new descriptor (O_PATH) of the file of a member that has bytes, or a negative errno:
 * -ESTALE if its path names another file than when the members were assembled, or the error of
 * open(2). Local, thread-safe.
 */
int mpiio_assembled_open_path(const struct mpiio_file *file, int64_t member);

/*
 * Returns a hash of the members' identities (identity.h) and their numbers of bytes. It is the same
 * in all processes of one machine. Local, thread-safe.
 */
uint64_t mpiio_assembled_identity(const struct mpiio_file *file);

/* Like mpiio_member_find_twins (identity.h), for the members. */
int mpiio_assembled_find_twins(const struct mpiio_file *file, struct mpiio_member_twins *twins);

/*
 * Sets a callback replaced(argument, member, path). Any thread calls it, once for each member, when
 * it finds that a member's path names another file than when the members were assembled. Local.
 * Call before several threads use the file.
 */
void mpiio_assembled_on_replaced(struct mpiio_file *file,
                                 void (*replaced)(void *argument, int64_t member, const char *path),
                                 void *argument);

/* Returns the number of writes to members that this process has finished. Thread-safe. */
uint64_t mpiio_assembled_writes(const struct mpiio_file *file);

/* Returns a digest of the lengths and times of all members, which distinguishes two states of
   them. Sets times to the latest modification and the latest change of any member. Checks the
   file of each member that has bytes. Local, thread-safe. */
uint64_t mpiio_assembled_state(const struct mpiio_file *file, struct timespec times[2]);

/*
 * Finds the byte at displacement, 0 <= displacement < the length of the whole. file must be
 * assembled. Returns 0 or a negative errno. Thread-safe.
 */
int mpiio_assembled_find(struct mpiio_file *file, int64_t displacement,
                         struct mpiio_member_place *place);

/*
 * Opens all members, each with a descriptor, for as long as the file exists. Returns 0, -ESTALE if
 * a member's file has been replaced since they were assembled, or the error of open(2). Must not be
 * called twice. Sets *grain to the smallest read, in bytes of the whole, whose part of each member
 * is worth a system call; 0 if runs are that long.
 */
int mpiio_assembled_hold(struct mpiio_file *file, int64_t *grain);

/* The rights to an assembled file are those that each of its members grants, to the extent that the
   owner, group and mode of one file can express them. Local, thread-safe. */

/* The maximum number of members whose rights are examined for a caller. */
#define MPIIO_MEMBERS_JUDGED 256

/*
 * Returns the number of the first member that has bytes, and an access control list that goes
 * beyond its mode; -1: none. file must be assembled.
 */
int64_t mpiio_members_find_list(const struct mpiio_file *file);

#endif
