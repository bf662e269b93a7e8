/* SPDX-License-Identifier: MIT */
#include "talk.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "address.h"

/* Handles the errno of a failed send or recv. Waits if the socket was not ready. Returns 0 if
   the call should be repeated, else a negative errno. */
static int go_on(int fd, short events, int timeout)
{
    if (errno == EINTR)
        return 0;
    if (errno == EAGAIN || errno == EWOULDBLOCK)
        return mpiio_address_wait(fd, events, timeout);
    return errno == EPIPE || errno == ECONNRESET ? -ENOTCONN : -errno;
}

int mpiio_talk_send(int fd, const void *bytes, size_t size, int timeout)
{
    const char *at = bytes;
    int error = 0;

    while (size > 0 && error == 0) {
        ssize_t sent = send(fd, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent < 0) {
            error = go_on(fd, POLLOUT, timeout);
        } else {
            at += sent;
            size -= (size_t)sent;
        }
    }
    return error;
}

int mpiio_talk_receive(int fd, void *bytes, size_t size, int timeout)
{
    char *at = bytes;
    int error = 0;

    while (size > 0 && error == 0) {
        ssize_t got = recv(fd, at, size, MSG_DONTWAIT);

        if (got == 0) {
            error = -ENOTCONN;
        } else if (got < 0) {
            error = go_on(fd, POLLIN, timeout);
        } else {
            at += got;
            size -= (size_t)got;
        }
    }
    return error;
}

void mpiio_talk_prepare(int fd)
{
    const int on = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}
