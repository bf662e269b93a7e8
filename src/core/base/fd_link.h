/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_FD_LINK_H
#define MPIIO_FD_LINK_H

#include <stdio.h>

/* Long enough for the number of any descriptor. */
#define MPIIO_FD_LINK_SIZE 32

/*
 * Writes a path that leads to the file of a descriptor, whatever its name leads to by now. To open
 * the path makes an open file description of its own, also of a descriptor from O_PATH.
 * Thread-safe.
 */
static inline void mpiio_fd_link(int fd, char link[MPIIO_FD_LINK_SIZE])
{
    snprintf(link, MPIIO_FD_LINK_SIZE, "/proc/self/fd/%d", fd);
}

#endif
