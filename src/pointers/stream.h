/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_STREAM_H
#define MPIIO_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A file that has no positions (MPI_MODE_SEQUENTIAL, MPI 3.1, 13.2.1): a FIFO or a character
 * device. What is read and written there is whole etypes, each by one caller. All functions are
 * thread-safe; errors are negative errno values.
 */
struct mpiio_stream;

/* One call that may have to wait: zeros before. */
struct mpiio_stream_waiter {
    struct mpiio_stream_waiter *next; /* lock: inside */
    int bell;                         /* an eventfd, while it is among those that wait */
    bool ended;                       /* lock: inside */
};

/*
 * Opens the file at path, to be read or to be written in etypes of so many bytes: does not wait for
 * its other end. -EINVAL: it is neither a FIFO nor a character device.
 */
int mpiio_stream_open(const char *path, bool writes, size_t etype, struct mpiio_stream **stream);

/* Nobody uses it any more. NULL is allowed. */
void mpiio_stream_free(struct mpiio_stream *stream);

/*
 * Reads whole etypes, as many as there are now and fit into length bytes, and waits until there is
 * one. How many bytes they are; -EINVAL: there is no room for one; 0: the end, for now (of a FIFO:
 * nobody writes to it any more), where less than an etype that came before it is dropped. -EINTR
 * and -ENOTCONN as below.
 */
ssize_t mpiio_stream_read(struct mpiio_stream *stream, void *buffer, size_t length,
                          struct mpiio_stream_waiter *waiter);

/*
 * Writes length bytes, whole etypes, and waits where there is no room. How many, fewer than length
 * where it was interrupted or failed after some etypes; one that has begun is completed.
 */
ssize_t mpiio_stream_write(struct mpiio_stream *stream, const void *buffer, size_t length,
                           struct mpiio_stream_waiter *waiter);

/* The waiter's call returns -EINTR, now or later, where it would wait. */
void mpiio_stream_interrupt(struct mpiio_stream *stream, struct mpiio_stream_waiter *waiter);

/* Nobody waits any more: who would gets -ENOTCONN. */
void mpiio_stream_stop(struct mpiio_stream *stream);

#endif
