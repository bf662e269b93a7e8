/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * Preloaded. While the file NOMEM_FILE exists, allocations of a daemon's flusher fail. (That is the
 * thread which waits for two descriptors at once.) Each time that the thread wakes up, as many
 * allocations succeed as the file has bytes.
 */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);

static _Thread_local __attribute__((tls_model("initial-exec"))) int fails, left;

static int refuse(void)
{
    return fails && left-- <= 0;
}

void *malloc(size_t size)
{
    return refuse() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return refuse() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    return refuse() ? NULL : __libc_realloc(block, size);
}

int poll(struct pollfd *files, nfds_t count, int timeout)
{
    struct timespec time = {.tv_sec = timeout / 1000, .tv_nsec = timeout % 1000 * 1000000L};
    int result = (int)syscall(SYS_ppoll, files, count, timeout < 0 ? NULL : &time, NULL, 0);
    const char *path = getenv("NOMEM_FILE");
    char bytes[16];
    int file;

    if (count != 2 || path == NULL)
        return result;
    file = open(path, O_RDONLY | O_CLOEXEC);
    fails = file >= 0;
    left = fails ? (int)read(file, bytes, sizeof(bytes)) : 0;
    if (fails)
        close(file);
    return result;
}
