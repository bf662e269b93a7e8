/* SPDX-License-Identifier: MIT */
#include "connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for size more bytes after the end. */
static int reserve(struct mpiio_queue *queue, size_t size)
{
    size_t held = mpiio_queue_size(queue);
    size_t capacity = queue->capacity != 0 ? queue->capacity : 256;
    uint8_t *bytes;

    if (size > MPIIO_QUEUE_MAX - held)
        return -ENOBUFS;
    if (size <= queue->capacity - queue->end)
        return 0;
    if (queue->start != 0) {
        memmove(queue->bytes, queue->bytes + queue->start, held);
        queue->start = 0;
        queue->end = held;
    }
    while (capacity < held + size)
        capacity *= 2;
    if (capacity == queue->capacity)
        return 0;
    bytes = realloc(queue->bytes, capacity);
    if (bytes == NULL)
        return -ENOMEM;
    queue->bytes = bytes;
    queue->capacity = capacity;
    return 0;
}

int mpiio_queue_put(struct mpiio_queue *queue, const void *bytes, size_t size)
{
    int error = reserve(queue, size);

    if (error == 0 && size != 0) {
        memcpy(queue->bytes + queue->end, bytes, size);
        queue->end += size;
    }
    return error;
}

int mpiio_queue_frame(struct mpiio_queue *queue, const struct mpiio_peer_frame *frame)
{
    uint8_t bytes[MPIIO_PEER_FRAME_MAX];

    return mpiio_queue_put(queue, bytes, mpiio_peer_frame_encode(frame, bytes));
}

int mpiio_queue_next(struct mpiio_queue *queue, struct mpiio_peer_frame *frame)
{
    size_t size = mpiio_queue_size(queue);
    ssize_t length;

    if (size == 0)
        return 0;
    length = mpiio_peer_frame_decode(mpiio_queue_first(queue), size, frame);
    if (length <= 0)
        return (int)length;
    mpiio_queue_drop(queue, (size_t)length);
    return 1;
}

void mpiio_queue_drop(struct mpiio_queue *queue, size_t size)
{
    if (size < mpiio_queue_size(queue))
        queue->start += size;
    else
        queue->start = queue->end = 0;
}

void mpiio_queue_free(struct mpiio_queue *queue)
{
    free(queue->bytes);
    *queue = (struct mpiio_queue){0};
}
