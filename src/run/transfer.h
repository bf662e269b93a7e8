/* SPDX-License-Identifier: MIT */
#ifndef RUN_TRANSFER_H
#define RUN_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "descriptors.h"

/* The functions of sections keep errno and act on the calling thread. */

#define RUN_HERE INT64_MIN /* the position of the descriptor, where its last call ended */

/* Like run_serve (below), for a descriptor that may be granted. */
bool run_serve_call(int fd, const struct iovec *parts, int count, int64_t offset, bool writing,
                    ssize_t *result);

/*
 * Reads or writes a granted slice, at a slice offset or RUN_HERE, like readv(2), preadv(2),
 * writev(2) and pwritev(2). Returns true if it served the call; *result is the call's result.
 * Returns false if the descriptor is not granted, or no longer, or an error has occurred. The
 * program's own call must then follow, and reports any error.
 *
 * The kernel keeps the position in the mount's descriptor. This function first moves it by the
 * requested length, so that no two calls of any threads or processes get the same bytes.
 * Thread-safe, and a cancellation point if fd may be granted. Not async-signal-safe in general: it
 * may allocate memory, or open a member.
 */
static inline bool run_serve(int fd, const struct iovec *parts, int count, int64_t offset,
                             bool writing, ssize_t *result)
{
    return run_inside == 0 && run_may_be_granted(fd) &&
           run_serve_call(fd, parts, count, offset, writing, result);
}

/* Does the same for one buffer. */
static inline bool run_serve_one(int fd, const void *buffer, size_t length, int64_t offset,
                                 bool writing, ssize_t *result)
{
    struct iovec part = {.iov_base = (void *)(uintptr_t)buffer, .iov_len = length};

    return run_serve(fd, &part, 1, offset, writing, result);
}

/*
 * Serves sendfile(2) from or to a granted slice. If offset is NULL, it reads at the position of
 * `from`. Returns true or false as above; not async-signal-safe.
 */
bool run_send(int to, int from, off64_t *offset, size_t length, ssize_t *result);

/* Streams of granted slices (stdio), with bytes and with wide characters. */

/* Writes the buffered data of streams of granted slices. */
void run_streams_flush(void);

/* Excludes changes of the list of streams, so that a child of fork(2) gets a complete one. */
void run_streams_lock(void);
void run_streams_unlock(void);

#endif
