/* SPDX-License-Identifier: MIT */
/*
 * Streams. The C library reads and writes them by calls of its own, which are not caught: one of a
 * granted slice is made again as a stream of the library's (fopencookie(3)), over the same
 * description. Only its descriptor's number, which it does not know, is to be looked up.
 */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include "streams.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "descriptors.h"
#include "grant.h"
#include "next.h"

#define CATCH       __attribute__((visibility("default")))
#define BUFFER_SIZE (64 << 10)

struct stream {
    struct stream *next;
    FILE *file;
    int fd;
};

static struct stream *streams; /* lock: lock */
static atomic_int count;       /* of them, to look at without the lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The descriptor of a stream of ours, or -1. */
static int find(FILE *file)
{
    const struct stream *stream;
    int fd = -1;

    if (atomic_load(&count) == 0)
        return -1;
    pthread_mutex_lock(&lock);
    for (stream = streams; stream != NULL && stream->file != file; stream = stream->next)
        continue;
    if (stream != NULL)
        fd = stream->fd;
    pthread_mutex_unlock(&lock);
    return fd;
}

static ssize_t read_stream(void *cookie, char *buffer, size_t length)
{
    return read(((struct stream *)cookie)->fd, buffer, length);
}

/* A stream takes 0 for an error. */
static ssize_t write_stream(void *cookie, const char *buffer, size_t length)
{
    ssize_t put = write(((struct stream *)cookie)->fd, buffer, length);

    return put < 0 ? 0 : put;
}

static int seek_stream(void *cookie, off64_t *offset, int whence)
{
    off64_t place = lseek64(((struct stream *)cookie)->fd, *offset, whence);

    if (place < 0)
        return -1;
    *offset = place;
    return 0;
}

static int close_stream(void *cookie)
{
    struct stream *stream = cookie, **link = &streams;
    int fd = stream->fd;

    pthread_mutex_lock(&lock);
    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
    atomic_fetch_sub(&count, 1);
    pthread_mutex_unlock(&lock);
    free(stream);
    return close(fd);
}

static const char *mode_of(int fd)
{
    switch (fcntl(fd, F_GETFL) & O_ACCMODE) {
    case O_RDONLY:
        return "r";
    case O_WRONLY:
        return "w";
    default:
        return "r+";
    }
}

/* A stream of ours over fd, which is granted and becomes the stream's; NULL: fd is as it was. */
static FILE *make_stream(int fd)
{
    struct stream *stream = malloc(sizeof(*stream));
    const cookie_io_functions_t calls = {
        .read = read_stream, .write = write_stream, .seek = seek_stream, .close = close_stream};

    if (stream == NULL)
        return NULL;
    stream->fd = fd;
    stream->file = fopencookie(stream, mode_of(fd), calls);
    if (stream->file == NULL) {
        free(stream);
        return NULL;
    }
    setvbuf(stream->file, NULL, _IOFBF, BUFFER_SIZE);
    pthread_mutex_lock(&lock);
    stream->next = streams;
    streams = stream;
    atomic_fetch_add(&count, 1);
    pthread_mutex_unlock(&lock);
    return stream->file;
}

static bool is_granted(int fd)
{
    struct run_open *open = run_acquire(fd);

    run_release(open);
    return open != NULL;
}

/* The stream of a file that was just opened, or, where that is granted, ours in its place. */
static FILE *opened(FILE *file)
{
    int fd, copy, error = errno;
    FILE *ours;

    if (file == NULL || run_inside > 0)
        return file;
    fd = RUN_NEXT(fileno)(file);
    run_leave(fd); /* what had the number was closed unseen */
    if (!run_grant_ask(fd))
        return file;
    copy = fcntl(fd, (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0 ? F_DUPFD_CLOEXEC : F_DUPFD, 0);
    ours = copy >= 0 ? make_stream(copy) : NULL;
    if (ours != NULL) {
        run_leave(fd);
        RUN_NEXT(fclose)(file);
    } else if (copy >= 0) {
        close(copy);
    }
    errno = error;
    return ours != NULL ? ours : file;
}

#define CATCH_FOPEN(name)                                                                          \
    CATCH FILE *name(const char *path, const char *mode)                                           \
    {                                                                                              \
        return opened(RUN_NEXT(name)(path, mode));                                                 \
    }

CATCH_FOPEN(fopen)
CATCH_FOPEN(fopen64)

CATCH FILE *fdopen(int fd, const char *mode)
{
    /* That of the system says whether fd and mode go together. */
    FILE *file = RUN_NEXT(fdopen)(fd, mode);
    FILE *ours = NULL;
    int copy;

    if (file == NULL || !is_granted(fd))
        return file;
    copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return file;
    RUN_NEXT(fclose)(file);
    ours = run_duplicated(copy, RUN_NEXT(dup3)(copy, fd, 0)) == fd ? make_stream(fd) : NULL;
    close(copy);
    return ours;
}

#define CATCH_FILENO(name)                                                                         \
    CATCH int name(FILE *file)                                                                     \
    {                                                                                              \
        int fd = find(file);                                                                       \
        return fd >= 0 ? fd : RUN_NEXT(name)(file);                                                \
    }

CATCH_FILENO(fileno)
CATCH_FILENO(fileno_unlocked)

void run_streams_flush(void)
{
    if (atomic_load(&count) > 0)
        fflush(NULL);
}
