/* SPDX-License-Identifier: MIT */
#ifndef FS_TRACE_H
#define FS_TRACE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/uio.h>

struct fs_log;
struct fs_traced;
struct fs_tree;

#define FS_TRACE_BUCKETS 64

/*
 * The requests in progress, by their numbers. At level debug, the thread that answers a request
 * logs a line for it. At other levels a request costs two comparisons.
 */
struct fs_trace {
    const struct fs_log *log; /* borrowed, like tree */
    const struct fs_tree *tree;
    pthread_mutex_t lock;
    struct fs_traced *bucket[FS_TRACE_BUCKETS]; /* lock: lock */
    atomic_uint open; /* number of these requests; changed with the lock held */
};

void fs_trace_init(struct fs_trace *trace, const struct fs_log *log, const struct fs_tree *tree);
void fs_trace_free(struct fs_trace *trace);

/* Records a request of length bytes as it arrived from the kernel. Thread-safe. */
void fs_trace_begin(struct fs_trace *trace, const void *request, size_t length);

/* Logs the request that parts answer, before the kernel gets the answer. Thread-safe. */
void fs_trace_end(struct fs_trace *trace, const struct iovec *parts, int count);

#endif
