/* SPDX-License-Identifier: MIT */
#ifndef FS_BUFFER_H
#define FS_BUFFER_H

#include <stddef.h>

/*
 * Memory for size bytes that requests are answered from, in pages of 2 MiB where the kernel gives
 * them: it looks up each 4 KiB of an answer, which took a fifth of the daemon's time more where
 * these were pages of their own. The caller's, for free(3); NULL without memory.
 */
void *fs_buffer_new(size_t size);

#endif
