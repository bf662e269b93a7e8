/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_TALK_H
#define MPIIO_TALK_H

#include <stddef.h>

/*
 * Sends or receives exactly size bytes over a connected non-blocking socket. Waits up to timeout ms
 * each time that the socket is not ready. Returns 0; -ENOTCONN if the peer has closed the
 * connection; -ETIMEDOUT; or another negative errno. Fails at once on a socket that another thread
 * has shut down. Thread-safe for different sockets.
 */
int mpiio_talk_send(int fd, const void *bytes, size_t size, int timeout);
int mpiio_talk_receive(int fd, void *bytes, size_t size, int timeout);

/* Sets TCP_NODELAY, so that the kernel sends short messages at once. Ignores errors. */
void mpiio_talk_prepare(int fd);

#endif
