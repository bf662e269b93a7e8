/* SPDX-License-Identifier: MIT */
#ifndef FS_MEMORY_H
#define FS_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/*
 * Bytes of memory that this process may come to have without swapping: what the kernel estimates to
 * be available, and no more than the limit of a control group that it is in, as jobs of batch
 * systems and containers are. 0: the kernel does not say. root: the folder with proc and sys, ""
 * but for tests. Local, thread-safe.
 */
int64_t fs_free_memory(const char *root);

/*
 * Memory for size bytes that requests are answered from, in pages of 2 MiB where the kernel gives
 * them: it looks up each 4 KiB of an answer, which took a fifth of the daemon's time more where
 * these were pages of their own. The caller's, for free(3); NULL without memory.
 */
void *fs_buffer_new(size_t size);

#endif
