/* SPDX-License-Identifier: MIT */
#ifndef FS_MEMORY_H
#define FS_MEMORY_H

#include <pthread.h>
#include <stdbool.h>
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

/*
 * Buffers for the answers to reads. There are never more than reads that were served at once. A
 * buffer takes little memory until a large read uses it.
 */
struct fs_read_buffer {
    struct fs_read_buffer *next; /* the next free buffer; guarded by the lock */
    char *bytes;
    bool large; /* its pages are of 2 MiB, if the kernel provides them */
};

struct fs_read_buffers {
    pthread_mutex_t lock;
    size_t size;                 /* of each buffer, in bytes */
    struct fs_read_buffer *free; /* most recently used first; guarded by the lock */
};

/* Initializes an empty list of buffers of size bytes each. */
void fs_read_buffers_init(struct fs_read_buffers *buffers, size_t size);

/* Frees the buffers. None may be in use. */
void fs_read_buffers_free(struct fs_read_buffers *buffers);

/*
 * take returns a buffer for a read of size bytes, which is at most the size of the buffers, or NULL
 * if memory is exhausted. put gives the buffer back. Both are thread-safe.
 */
struct fs_read_buffer *fs_read_buffers_take(struct fs_read_buffers *buffers, size_t size);
void fs_read_buffers_put(struct fs_read_buffers *buffers, struct fs_read_buffer *buffer);

#endif
