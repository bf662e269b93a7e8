/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_SAME_H
#define ENGINE_SAME_H

#include <stdbool.h>
#include <stdint.h>

#include "collective.h"

/* Identity of the file at a path, as one node sees it. All these functions are local. */

/* The result of comparing a node's file with the file of node 0. */
enum engine_same {
    ENGINE_SAME,    /* proved to be one file; or one of the two has none, which the open reports */
    ENGINE_OTHER,   /* proved to be two files */
    ENGINE_UNKNOWN, /* neither proved nor disproved */
};

/* A node's knowledge of its file. It is sent as it is in memory. */
struct engine_identity {
    bool found, local, device, has_birth;
    char boot[40]; /* of the running kernel */
    uint64_t inode, dev, rdev;
    int64_t birth[2];
};

/* A cache for the identification of many files. Initialize it with zeros. */
struct engine_identifier {
    char boot[40];
    bool looked, local; /* at least one file has been examined; its filesystem was local */
    uint64_t dev;
};

/* Identifies the file at path. If there is no file, found is false. */
struct engine_identity engine_identify(struct engine_identifier *identifier, const char *path);

/* Returns true if the file is on a filesystem of this machine alone. */
bool engine_identity_is_local(const char *path);

/*
 * Returns whether the paths of all nodes name one file. Collective. If each host had a file of its
 * own on its local disk, the data would be scattered over all of them. Inode numbers prove nothing:
 * new filesystems number alike, and copies of a disk are identical.
 *
 * On a local filesystem, nodes have the same file only if they share a running kernel, and see the
 * same device and inode. Otherwise the attributes that do not depend on the client are compared
 * (inode, creation time), and node 0 leaves a mark that other nodes must find. The first mark is a
 * lock on a byte whose position cannot be guessed. If a node does not see it, that proves nothing,
 * because some clients keep locks local. Then node 0 briefly makes a new file with an unguessable
 * name beside the file. Times, sizes and the device number are not compared: clients cache the
 * former, and invent the latter.
 */
enum engine_same engine_same_file(struct engine_collective *group, const char *path);

#endif
