/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_FD_LINK_H
#define MPIIO_FD_LINK_H

#include <errno.h>
#include <fcntl.h>
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

/*
 * Opens a descriptor's file again, whatever its name leads to by now, with flags as open(2) takes
 * them and O_CLOEXEC. The new open file description has its own position and locks. Returns a
 * descriptor, which the caller closes, or a negative errno. Thread-safe.
 */
static inline int mpiio_fd_reopen(int fd, int flags)
{
    char link[MPIIO_FD_LINK_SIZE];
    int again;

    mpiio_fd_link(fd, link);
    again = open(link, flags | O_CLOEXEC);
    return again < 0 ? -errno : again;
}

#endif
