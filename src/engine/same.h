/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_SAME_H
#define ENGINE_SAME_H

#include <stdbool.h>
#include <stdint.h>

#include "collective.h"

/* Which file it is that a path names, as far as one node can tell. All functions are local. */

/* How a node's file compares with that of node 0. */
enum engine_same {
    ENGINE_SAME,    /* proved to be one; or one of the two has none, which opening it tells */
    ENGINE_OTHER,   /* proved to be two */
    ENGINE_UNKNOWN, /* nothing speaks against one file, and nothing proves it */
};

/* What a node knows of its file. It travels as it is. */
struct engine_identity {
    bool found, local, device, has_birth;
    char boot[40]; /* of the running kernel */
    uint64_t inode, dev, rdev;
    int64_t birth[2];
};

/* What is the same for many files: begins as zeros. */
struct engine_identifier {
    char boot[40];
    bool looked, local; /* at a file, whose filesystem it was */
    uint64_t dev;
};

/* A path that names nothing is not found. */
struct engine_identity engine_identify(struct engine_identifier *identifier, const char *path);

/* Whether the file is on a filesystem of this machine alone. */
bool engine_identity_is_local(const char *path);

/*
 * Collective: whether the paths of all nodes name one file. A path that is another file on each
 * host, on its own disk, would scatter the data over all of them. Numbers of inodes prove nothing:
 * new filesystems all have the same, and copies of a disk have all in common.
 *
 * Where the filesystem is one of a single machine, the file is the same for nodes of one running
 * kernel that see the same device and inode, and for no others. Else what does not change with the
 * client is compared (inode, time of birth), and node 0 leaves a mark that others must find: a lock
 * on a byte that nobody can guess; where that is not seen, which proves nothing, as some clients
 * keep locks to themselves, a new file of such a name beside it, for a moment. Times, sizes
 * and the filesystem's number are not looked at: clients cache the ones, and make up the others.
 */
enum engine_same engine_same_file(struct engine_collective *group, const char *path);

#endif
