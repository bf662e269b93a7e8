/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_QUEUE_H
#define MPIIO_QUEUE_H

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

#endif
