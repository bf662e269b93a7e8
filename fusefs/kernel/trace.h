/* SPDX-License-Identifier: MIT */
#ifndef FS_TRACE_H
#define FS_TRACE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/uio.h>

struct fs_log;
struct fs_traced;
struct fs_tree;

#define FS_TRACE_BUCKETS 64

/* The counters of requests in stats.json. FS_UNCOUNTED is not shown. */
enum fs_request {
    FS_UNCOUNTED,
    FS_LOOKUP,
    FS_GETATTR,
    FS_READLINK,
    FS_OPEN,
    FS_READ,
    FS_WRITE,
    FS_RELEASE,
    FS_LSEEK,
    FS_FSYNC,
    FS_READDIR,
    FS_XATTR,
    FS_OTHER,
    FS_REQUESTS
};

/*
 * Counts requests, and records those in progress. At level debug, the thread that answers a
 * request logs a line for it. At other levels, tracing costs two comparisons and the increment of a
 * counter.
 */
struct fs_trace {
    const struct fs_log *log; /* borrowed, like tree */
    const struct fs_tree *tree;
    pthread_mutex_t lock;
    struct fs_traced *bucket[FS_TRACE_BUCKETS]; /* lock: lock */
    atomic_uint open; /* number of these requests; changed with the lock held */
    _Atomic uint64_t requests[FS_REQUESTS]; /* by enum fs_request: the number of arrivals */
};

void fs_trace_init(struct fs_trace *trace, const struct fs_log *log, const struct fs_tree *tree);
void fs_trace_free(struct fs_trace *trace);

/* Counts and records a request of length bytes as it arrived from the kernel. Thread-safe. */
void fs_trace_begin(struct fs_trace *trace, const void *request, size_t length);

/* Logs the request that parts answer, before the kernel gets the answer. Thread-safe. */
void fs_trace_end(struct fs_trace *trace, const struct iovec *parts, int count);

#endif
