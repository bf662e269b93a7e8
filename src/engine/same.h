/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_SAME_H
#define ENGINE_SAME_H

#include "collective.h"
#include "identity.h"

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
