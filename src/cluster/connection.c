/* SPDX-License-Identifier: MIT */
#include "peer_frame.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"

/* Connections to peers, over sockets that net has made. */

void mpiio_peer_connection_open(struct mpiio_peer_connection *link, int fd)
{
    link->fd = fd;
    link->error = 0;
    link->reset = false;
    atomic_store(&link->heard, mpiio_clock());
}

void mpiio_peer_connection_close(struct mpiio_peer_connection *link)
{
    if (link->fd >= 0)
        close(link->fd);
    link->fd = -1;
    mpiio_queue_free(&link->in);
    mpiio_queue_free(&link->out);
}

static void fail_connection(struct mpiio_peer_connection *link, int error)
{
    if (link->error == 0)
        link->error = error;
}

void mpiio_peer_connection_flush(struct mpiio_peer_connection *link)
{
    ssize_t sent;

    while (link->error == 0 && mpiio_queue_size(&link->out) != 0) {
        sent = send(link->fd, mpiio_queue_first(&link->out), mpiio_queue_size(&link->out),
                    MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0) {
            mpiio_queue_drop(&link->out, (size_t)sent);
            atomic_fetch_add(&link->sent, (uint64_t)sent);
        } else if (errno == EPIPE || errno == ECONNRESET) {
            /* The peer has closed the connection. Its last bytes must be read first, so the
               failure is left to the reader. The kernel reports a reset only once. The reader
               then sees the end of the stream. */
            link->reset = link->reset || errno == ECONNRESET;
            mpiio_queue_free(&link->out);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return;
        } else if (errno != EINTR) {
            fail_connection(link, -errno);
        }
    }
}

void mpiio_peer_connection_put(struct mpiio_peer_connection *link, const void *bytes, size_t size)
{
    int error;

    if (link->fd < 0 || link->error != 0)
        return;
    error = mpiio_queue_put(&link->out, bytes, size);
    if (error != 0)
        fail_connection(link, error);
    mpiio_peer_connection_flush(link);
}

bool mpiio_peer_connection_fill(struct mpiio_peer_connection *link)
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
            fail_connection(link, error);
        } else if (got == 0) {
            fail_connection(link, link->reset ? -ECONNRESET : -ENOTCONN);
        } else if (errno == EINTR) {
            continue;
        } else if (errno != EAGAIN && errno != EWOULDBLOCK) {
            fail_connection(link, -errno);
        }
        return false;
    }
    return false;
}
