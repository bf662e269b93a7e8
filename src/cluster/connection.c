/* SPDX-License-Identifier: MIT */
#include "connection.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Makes room for size bytes more behind the end. */
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

int mpiio_connection_open(struct mpiio_connection *link, int fd)
{
    const int on = 1;
    int flags = fcntl(fd, F_GETFL);

    link->fd = fd;
    link->error = 0;
    atomic_store(&link->heard, mpiio_clock());
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0)
        return -errno;
    return 0;
}

void mpiio_connection_close(struct mpiio_connection *link)
{
    if (link->fd >= 0)
        close(link->fd);
    link->fd = -1;
    mpiio_queue_free(&link->in);
    mpiio_queue_free(&link->out);
}

static void fail(struct mpiio_connection *link, int error)
{
    if (link->error == 0)
        link->error = error;
}

void mpiio_connection_flush(struct mpiio_connection *link)
{
    ssize_t sent;

    while (link->error == 0 && mpiio_queue_size(&link->out) != 0) {
        sent = send(link->fd, mpiio_queue_first(&link->out), mpiio_queue_size(&link->out),
                    MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0) {
            mpiio_queue_drop(&link->out, (size_t)sent);
            atomic_fetch_add(&link->sent, (uint64_t)sent);
        } else if (errno == EPIPE || errno == ECONNRESET) {
            /* Nobody listens. But what was said last is to be read first: the reader fails. */
            mpiio_queue_free(&link->out);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return;
        } else if (errno != EINTR) {
            fail(link, -errno);
        }
    }
}

void mpiio_connection_put(struct mpiio_connection *link, const void *bytes, size_t size)
{
    int error;

    if (link->fd < 0 || link->error != 0)
        return;
    error = mpiio_queue_put(&link->out, bytes, size);
    if (error != 0)
        fail(link, error);
    mpiio_connection_flush(link);
}

void mpiio_connection_send(struct mpiio_connection *link, const struct mpiio_peer_frame *frame)
{
    uint8_t bytes[MPIIO_PEER_FRAME_MAX];

    mpiio_connection_put(link, bytes, mpiio_peer_frame_encode(frame, bytes));
}

bool mpiio_connection_fill(struct mpiio_connection *link)
{
    uint8_t bytes[16384];
    ssize_t got;
    int error;

    while (link->fd >= 0) {
        if (mpiio_queue_size(&link->in) > MPIIO_QUEUE_MAX / 2)
            return true;
        got = recv(link->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (got > 0) {
            atomic_store(&link->heard, mpiio_clock());
            atomic_fetch_add(&link->received, (uint64_t)got);
            error = mpiio_queue_put(&link->in, bytes, (size_t)got);
            if (error == 0)
                continue;
            fail(link, error);
        } else if (got == 0) {
            fail(link, -ENOTCONN);
        } else if (errno == EINTR) {
            continue;
        } else if (errno != EAGAIN && errno != EWOULDBLOCK) {
            fail(link, -errno);
        }
        return false;
    }
    return false;
}

int mpiio_connection_next(struct mpiio_connection *link, struct mpiio_peer_frame *frame)
{
    size_t size = mpiio_queue_size(&link->in);
    ssize_t length;

    if (size == 0)
        return 0;
    length = mpiio_peer_frame_decode(mpiio_queue_first(&link->in), size, frame);
    if (length <= 0)
        return (int)length;
    mpiio_queue_drop(&link->in, (size_t)length);
    return 1;
}
