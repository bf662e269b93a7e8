/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Preloaded. Only the first RESET_AFTER calls of recv(2) succeed; later ones fail with a broken
 * connection. With CONNECT_LATE, connect(2) takes three seconds. With DEAF, while a file $DEAF.NODE
 * exists, the daemon of that node does not receive messages from other nodes.
 */

static int is_deaf(void)
{
    const char *files = getenv("DEAF"), *node = getenv("PMI_RANK");
    char path[4096];

    snprintf(path, sizeof(path), "%s.%s", files != NULL ? files : "", node != NULL ? node : "");
    return files != NULL && access(path, F_OK) == 0;
}

ssize_t recv(int fd, void *buffer, size_t size, int flags)
{
    static int calls;
    const char *after = getenv("RESET_AFTER");

    if (after != NULL && calls++ >= atoi(after)) {
        errno = ECONNRESET;
        return -1;
    }
    while (is_deaf())
        usleep(10000);
    return syscall(SYS_recvfrom, fd, buffer, size, flags, NULL, NULL);
}

int connect(int fd, __CONST_SOCKADDR_ARG address, socklen_t size)
{
    if (getenv("CONNECT_LATE") != NULL)
        usleep(3000000);
    return (int)syscall(SYS_connect, fd, address.__sockaddr__, size);
}
