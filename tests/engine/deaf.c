/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Preloaded into a daemon. While a file $DEAF.NODE exists, the daemon of that node does not receive
 * messages from other nodes.
 */
ssize_t recv(int fd, void *buffer, size_t size, int flags)
{
    const char *node = getenv("PMI_RANK");
    char path[4096];

    snprintf(path, sizeof(path), "%s.%s", getenv("DEAF"), node != NULL ? node : "");
    while (access(path, F_OK) == 0)
        usleep(10000);
    return syscall(SYS_recvfrom, fd, buffer, size, flags, NULL, NULL);
}
