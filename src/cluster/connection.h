/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_CONNECTION_H
#define MPIIO_CONNECTION_H

#include <stdatomic.h>

#include "core/base/clock.h"
#include "peer_frame.h"

/* A bounded FIFO of bytes. */
struct mpiio_queue {
    uint8_t *bytes; /* owned */
    size_t start, end, capacity;
};

#define MPIIO_QUEUE_MAX ((size_t)1 << 20)

/* Appends bytes. Returns 0, -ENOBUFS if the queue would exceed MPIIO_QUEUE_MAX, or -ENOMEM.
   After an error nothing is appended. */
int mpiio_queue_put(struct mpiio_queue *queue, const void *bytes, size_t size);

/* Appends a frame. Errors as mpiio_queue_put. */
int mpiio_queue_frame(struct mpiio_queue *queue, const struct mpiio_peer_frame *frame);

/* Removes the next frame. Returns 1, 0 if no complete frame is queued, or -EPROTO. The frame's
   text stays valid until the next put. */
int mpiio_queue_next(struct mpiio_queue *queue, struct mpiio_peer_frame *frame);

/* Removes size bytes, or all if there are fewer. */
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
 * A TCP connection to a peer. Sending never blocks: bytes that the peer does not receive yet wait
 * in a bounded queue. For one thread, except the counters.
 */
struct mpiio_connection {
    int fd;     /* owned; -1: closed */
    int error;  /* a negative errno once the connection has failed; -ENOTCONN: its end was read */
    bool reset; /* send(2) has reported that the peer reset the connection */
    struct mpiio_queue in, out;
    _Atomic int64_t heard;           /* when bytes last arrived from the peer, mpiio_clock */
    _Atomic uint64_t received, sent; /* bytes */
};

/* Takes ownership of a connected TCP socket, and makes it non-blocking. Returns 0 or a negative
   errno. */
int mpiio_connection_open(struct mpiio_connection *link, int fd);

/* Closes the connection, and drops queued bytes. May be called repeatedly. The counters stay. */
void mpiio_connection_close(struct mpiio_connection *link);

/*
 * Sends bytes, or queues them. Stores a failure in link->error; after a failure nothing is sent. It
 * is no failure here if the peer has closed the connection: mpiio_connection_fill detects that
 * after it has read the peer's last bytes.
 */
void mpiio_connection_put(struct mpiio_connection *link, const void *bytes, size_t size);

static inline void mpiio_connection_send(struct mpiio_connection *link,
                                         const struct mpiio_peer_frame *frame)
{
    uint8_t bytes[MPIIO_PEER_FRAME_MAX];

    mpiio_connection_put(link, bytes, mpiio_peer_frame_encode(frame, bytes));
}

/* Sends as much of the queue as the peer receives. Stores a failure in link->error. */
void mpiio_connection_flush(struct mpiio_connection *link);

/*
 * Reads the available bytes into link->in. Stores a failure, or the end of the stream, in
 * link->error. Returns true if link->in is half full and more bytes may be available: remove
 * frames, then call again.
 */
bool mpiio_connection_fill(struct mpiio_connection *link);

/* Removes the next frame of link->in. Returns 1, 0 if none is complete, or -EPROTO. The frame
   stays valid until the next fill. */
static inline int mpiio_connection_next(struct mpiio_connection *link,
                                        struct mpiio_peer_frame *frame)
{
    return mpiio_queue_next(&link->in, frame);
}

#endif
