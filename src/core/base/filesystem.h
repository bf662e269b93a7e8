/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_FILESYSTEM_H
#define MPIIO_FILESYSTEM_H

#include <stdbool.h>
#include <stdint.h>

/*
 * When a host sees other hosts' writes to a file (src/DESIGN.md, "What we assume of a filesystem").
 * The values are in the order of the mount option "coherence".
 */
enum mpiio_coherence {
    MPIIO_COHERENCE_AUTO,          /* determined by the type of filesystem */
    MPIIO_COHERENCE_LOCAL,         /* all see the same pages, including mapped ones */
    MPIIO_COHERENCE_CLOSE_TO_OPEN, /* opening a file shows what others closed before */
    MPIIO_COHERENCE_NONE,          /* each host may keep what it has read indefinitely */
};

/* A type of filesystem and its assumed properties. */
struct mpiio_filesystem {
    uint32_t type;    /* f_type of statfs(2); 0: any unknown type */
    const char *name; /* as users know it */
    enum mpiio_coherence coherence;
    bool one_machine;    /* no other machine has it mounted */
    bool exact_size;     /* lseek(2) returns the current size without asking a server */
    bool has_inode_lock; /* await_writers works (file.h) */
};

/* Returns the type of filesystem of a path, or of an open file. Never NULL. Thread-safe. */
const struct mpiio_filesystem *mpiio_filesystem_at(const char *path);
const struct mpiio_filesystem *mpiio_filesystem_of(int fd);

/* Returns the value's name in the mount option, such as "local". */
const char *mpiio_coherence_name(enum mpiio_coherence coherence);

/*
 * Stores the names in a folder on its device, by fsync(2) of the folder. Without its name, a new
 * file does not survive a loss of power. Returns 0 or a negative errno. Also returns 0 if the
 * filesystem does not support this, or if the user may not read the folder and so cannot sync it.
 */
int mpiio_folder_sync(const char *path);

#endif
