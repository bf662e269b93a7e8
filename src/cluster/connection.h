/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_CONNECTION_H
#define MPIIO_CONNECTION_H

#include <stdatomic.h>

#include "core/base/clock.h"
#include "peer_frame.h"

/* Bytes on their way, first in first out, up to a bound. */
struct mpiio_queue {
    uint8_t *bytes; /* owned */
    size_t start, end, capacity;
};

#define MPIIO_QUEUE_MAX ((size_t)1 << 20)

/* Appends. 0, -ENOBUFS (it would pass MPIIO_QUEUE_MAX) or -ENOMEM, then nothing is appended. */
int mpiio_queue_put(struct mpiio_queue *queue, const void *bytes, size_t size);

/* Appends a frame. As mpiio_queue_put. */
int mpiio_queue_frame(struct mpiio_queue *queue, const struct mpiio_peer_frame *frame);

/* Takes the next frame off: 1, 0 (none is complete) or -EPROTO. Its text is valid until the next
 * put. */
int mpiio_queue_next(struct mpiio_queue *queue, struct mpiio_peer_frame *frame);

/* Takes size bytes off, at most what there is. */
void mpiio_queue_drop(struct mpiio_queue *queue, size_t size);

void mpiio_queue_free(struct mpiio_queue *queue);

static inline const uint8_t *mpiio_queue_first(const struct mpiio_queue *queue)
{
    return queue->bytes + queue->start;
}

static inline size_t mpiio_queue_size(const struct mpiio_queue *queue)
{
    return queue->end - queue->start;
}

/*
 * One TCP connection to a peer, which never blocks: what the peer does not take yet waits in a
 * bounded queue. For one thread, but for the counters.
 */
struct mpiio_connection {
    int fd;     /* owned; -1: closed */
    int error;  /* a negative errno once the connection has failed; -ENOTCONN: its end was read */
    bool reset; /* send(2) has reported that the peer reset the connection */
    struct mpiio_queue in, out;
    _Atomic int64_t heard;           /* when the peer was last heard, mpiio_clock */
    _Atomic uint64_t received, sent; /* bytes */
};

/* Takes over a connected TCP socket, and makes it non-blocking. 0 or a negative errno. */
int mpiio_connection_open(struct mpiio_connection *link, int fd);

/* Closes, and drops what waits to be sent. May be repeated. The counters stay. */
void mpiio_connection_close(struct mpiio_connection *link);

/*
 * Sends, or queues. A failure is kept in link->error, and nothing is sent after one. That the peer
 * has closed the connection is no failure here: mpiio_connection_fill finds it, after the peer's
 * last words.
 */
void mpiio_connection_put(struct mpiio_connection *link, const void *bytes, size_t size);

static inline void mpiio_connection_send(struct mpiio_connection *link,
                                         const struct mpiio_peer_frame *frame)
{
    uint8_t bytes[MPIIO_PEER_FRAME_MAX];

    mpiio_connection_put(link, bytes, mpiio_peer_frame_encode(frame, bytes));
}

/* Sends as much of the queue as the peer takes. Failures are kept as above. */
void mpiio_connection_flush(struct mpiio_connection *link);

/*
 * Reads what there is to link->in. A failure, or the end, is kept in link->error. True: there may
 * be more, and frames must be taken off first.
 */
bool mpiio_connection_fill(struct mpiio_connection *link);

/* Takes the next frame off link->in: 1, 0 (none yet) or -EPROTO. Valid until it is filled again. */
static inline int mpiio_connection_next(struct mpiio_connection *link,
                                        struct mpiio_peer_frame *frame)
{
    return mpiio_queue_next(&link->in, frame);
}

#endif
