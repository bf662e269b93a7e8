/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_MOUNTS_FD_LINK_H
#define MPIIO_MOUNTS_FD_LINK_H

#include <stdio.h>

#define MOUNTS_FD_LINK_SIZE 32

/* As mpiio_fd_link (core/base/fd_link.h): this layer includes none of the others. */
static inline void mounts_fd_link(int fd, char link[MOUNTS_FD_LINK_SIZE])
{
    snprintf(link, MOUNTS_FD_LINK_SIZE, "/proc/self/fd/%d", fd);
}

#endif
