/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_FD_LINK_H
#define MPIIO_FD_LINK_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

/* Enough bytes for the path of any descriptor. */
#define MPIIO_FD_LINK_SIZE 32

/*
 * Writes a path that leads to a descriptor's file, even if the file's name now leads to another
 * one. Opening the path creates a new open file description, also if the descriptor was opened with
 * O_PATH. Thread-safe.
 */
static inline void mpiio_fd_link(int fd, char link[MPIIO_FD_LINK_SIZE])
{
    snprintf(link, MPIIO_FD_LINK_SIZE, "/proc/self/fd/%d", fd);
}

/*
 * Opens a descriptor's file again, even if its name now leads to another file, with the flags of
 * open(2) and O_CLOEXEC. The new open file description has its own position and locks. Returns a
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
