/* SPDX-License-Identifier: MIT */
#ifndef FS_MEMORY_H
#define FS_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/*
 * Returns the number of bytes that this process can allocate without swapping: the kernel's
 * estimate of available memory, capped by the limits of the process's control groups, which batch
 * systems and containers set. Returns 0 if the kernel reports no estimate. root is the folder that
 * contains proc and sys: "" except in tests. Thread-safe.
 */
int64_t fs_free_memory(const char *root);

/*
 * Allocates a buffer of size bytes for the answers to requests, in pages of 2 MiB if the kernel
 * provides them. The kernel looks up each page of an answer; with pages of 4 KiB, the lookups took
 * an extra fifth of the daemon's time. Returns NULL if out of memory. The caller frees the buffer
 * by free(3).
 */
void *fs_buffer_new(size_t size);

#endif
