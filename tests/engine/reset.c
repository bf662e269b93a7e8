/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Preloaded. Only the first RESET_AFTER calls of recv(2) succeed; later ones fail with a broken
 * connection. With CONNECT_LATE, connect(2) takes three seconds.
 */

ssize_t recv(int fd, void *buffer, size_t size, int flags)
{
    static int calls;
    const char *after = getenv("RESET_AFTER");

    if (after != NULL && calls++ >= atoi(after)) {
        errno = ECONNRESET;
        return -1;
    }
    return syscall(SYS_recvfrom, fd, buffer, size, flags, NULL, NULL);
}

int connect(int fd, __CONST_SOCKADDR_ARG address, socklen_t size)
{
    if (getenv("CONNECT_LATE") != NULL)
        usleep(3000000);
    return (int)syscall(SYS_connect, fd, address.__sockaddr__, size);
}
