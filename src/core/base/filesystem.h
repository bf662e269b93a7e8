/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_FILESYSTEM_H
#define MPIIO_FILESYSTEM_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What hosts see of each other's writes to a file: src/DESIGN.md, "What we assume of a filesystem".
 * The values are in the order of the mount option "coherence".
 */
enum mpiio_coherence {
    MPIIO_COHERENCE_AUTO,          /* as the type of the filesystem says */
    MPIIO_COHERENCE_LOCAL,         /* all see the same pages, those of mappings included */
    MPIIO_COHERENCE_CLOSE_TO_OPEN, /* opening a file shows what others closed before */
    MPIIO_COHERENCE_NONE,          /* each host may keep what it has read for as long as it likes */
};

/* A type of filesystem, as far as it is known. */
struct mpiio_filesystem {
    uint32_t type;    /* statfs(2)'s f_type; 0: all that are not known */
    const char *name; /* as users know it */
    enum mpiio_coherence coherence;
    bool one_machine;    /* no other machine has it mounted */
    bool exact_size;     /* lseek(2) returns the present size: no server need be asked */
    bool has_inode_lock; /* readers can wait for writers: mpiio_file_await_writers */
};

/* Returns the type of filesystem that a path, or an open file, is on. Never NULL. Thread-safe. */
const struct mpiio_filesystem *mpiio_filesystem_at(const char *path);
const struct mpiio_filesystem *mpiio_filesystem_of(int fd);

/* Returns the value as the mount option has it: "local", ... */
const char *mpiio_coherence_name(enum mpiio_coherence coherence);

#endif
