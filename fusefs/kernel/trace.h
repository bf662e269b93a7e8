/* SPDX-License-Identifier: MIT */
#ifndef FS_TRACE_H
#define FS_TRACE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/uio.h>

struct fs_session;
struct fs_traced;

#define FS_TRACE_BUCKETS 64

/*
 * The requests under way, by their numbers. At level debug the log gets a line for each request
 * when it is answered, by any thread. At the other levels a request costs two comparisons.
 */
struct fs_trace {
    pthread_mutex_t lock;
    struct fs_traced *bucket[FS_TRACE_BUCKETS]; /* lock: lock */
    atomic_uint open;                           /* how many there are; changed with the lock */
};

void fs_trace_init(struct fs_trace *trace);
void fs_trace_free(struct fs_trace *trace);

/* Notes a request as it came from the kernel, of length bytes. Thread-safe. */
void fs_trace_begin(struct fs_session *session, const void *request, size_t length);

/* Logs the request that is answered by parts, before the kernel gets them. Thread-safe. */
void fs_trace_end(struct fs_session *session, const struct iovec *parts, int count);

#endif
