/* SPDX-License-Identifier: MIT */
#ifndef FS_FREE_MEMORY_H
#define FS_FREE_MEMORY_H

#include <stdint.h>

/*
 * Bytes of memory that this process may come to have without swapping: what the kernel estimates to
 * be available, and no more than the limit of a control group that it is in, as jobs of batch
 * systems and containers are. 0: the kernel does not say. root: the folder with proc and sys, ""
 * but for tests. Local, thread-safe.
 */
int64_t fs_free_memory(const char *root);

#endif
