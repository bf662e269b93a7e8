/* SPDX-License-Identifier: MIT */
#ifndef RUN_TRANSFER_H
#define RUN_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "descriptors.h"

/* Sections that can be abandoned. The functions of sections keep errno and act on the calling
   thread. */

/* A read or a write that is being served. */
struct run_call {
    struct run_open *open; /* NULL until it is found */
    int fd;
    const struct iovec *parts;
    int count;
    size_t length;  /* bytes of the parts */
    int64_t offset; /* the slice offset; negative: nothing to complete if the call is abandoned */
    bool writing;
    bool here; /* the descriptor's position was moved by length */
    int cancellation;
};

/*
 * Ends the section of a call that the program is about to jump out of, from a signal handler. A
 * write is completed through the mount, as the kernel would have completed it; a read has no
 * effect. The call may hold locks of the shared file's store forever, so the file's grants end.
 * Async-signal-safe.
 */
void run_call_abandon(void);

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
 * Async-signal-safe: a handler that interrupts such a call is served by the mount. It is a
 * cancellation point if fd may be granted.
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
