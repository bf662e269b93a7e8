/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_TALK_H
#define MPIIO_TALK_H

#include <stddef.h>

/*
 * All of so many bytes over a connected non-blocking socket. The other end may take timeout ms for
 * each step forward. 0; -ENOTCONN where it has closed; -ETIMEDOUT; or another negative errno. A
 * socket that another thread has shut down fails at once. Thread-safe for different sockets.
 */
int mpiio_talk_send(int fd, const void *bytes, size_t size, int timeout);
int mpiio_talk_receive(int fd, void *bytes, size_t size, int timeout);

/* Has what is sent go on its way at once. */
void mpiio_talk_prepare(int fd);

#endif
