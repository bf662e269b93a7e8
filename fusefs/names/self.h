/* SPDX-License-Identifier: MIT */
#ifndef FS_SELF_H
#define FS_SELF_H

#include <sys/types.h>

#include "tree.h"

/*
 * The rank of a process in MPI_COMM_WORLD, from its environment: -ENOENT without one, or where the
 * tree has none such. Thread-safe.
 */
int64_t fs_self_rank(const struct fs_tree *tree, pid_t process);

#endif
