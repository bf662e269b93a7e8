/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_STREAM_H
#define MPIIO_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

/*
 * A file without positions (MPI_MODE_SEQUENTIAL, MPI 3.1, 13.2.1): a FIFO or a character device.
 * Callers read and write whole etypes, and each etype goes to or comes from one caller. All
 * functions are thread-safe. Errors are negative errno values.
 */
struct mpiio_stream;

/* A call that may have to wait. Zeros before the call. */
struct mpiio_stream_waiter {
    TAILQ_ENTRY(mpiio_stream_waiter) waiters; /* lock: inside */
    int bell;   /* in the queue: an eventfd, or -1 if there is none; else 0; lock: inside */
    bool ended; /* lock: inside */
};

/*
 * Opens the file at path for reading, or for writing if writes is true. etype is the size of an
 * etype in bytes. Does not wait for the other end. -EINVAL: the file is neither a FIFO nor a
 * character device.
 */
int mpiio_stream_open(const char *path, bool writes, size_t etype, struct mpiio_stream **stream);

/* Closes the file and frees the stream. No other thread may use it. NULL is allowed. */
void mpiio_stream_free(struct mpiio_stream *stream);

/*
 * Waits until there is an etype, and reads as many whole etypes as are available and fit into
 * length bytes. Returns their size in bytes; 0 at the end of the file; -EINVAL if an etype does not
 * fit; -EINTR and -ENOTCONN as below. A FIFO is at its end after its last writer has
 * closed it. At the end, an incomplete etype is dropped.
 */
ssize_t mpiio_stream_read(struct mpiio_stream *stream, void *buffer, size_t length,
                          struct mpiio_stream_waiter *waiter);

/*
 * Writes length bytes, which are whole etypes, and waits if there is no room. Returns the number of
 * bytes written in whole etypes, fewer than length if the call was interrupted or failed after some
 * etypes. An interruption never splits an etype, but an error or mpiio_stream_stop may.
 */
ssize_t mpiio_stream_write(struct mpiio_stream *stream, const void *buffer, size_t length,
                           struct mpiio_stream_waiter *waiter);

/* Makes the waiter's call return -EINTR, now or later, instead of waiting. */
void mpiio_stream_interrupt(struct mpiio_stream *stream, struct mpiio_stream_waiter *waiter);

/* Ends all waiting: current and later calls return -ENOTCONN instead. */
void mpiio_stream_stop(struct mpiio_stream *stream);

#endif
