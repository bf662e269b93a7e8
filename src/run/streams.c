/* SPDX-License-Identifier: MIT */
/*
 * Streams. The C library reads and writes them by calls of its own, which are not caught. For a
 * granted slice the program gets another stream (fopencookie(3)) over the same descriptor, whose
 * calls are. The C library's own stream is kept behind it: it closes the descriptor, and is at hand
 * for what the other one cannot do (wide.c).
 */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include "streams.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "descriptors.h"
#include "grant.h"
#include "hold.h"
#include "next.h"
#include "stats.h"

#define BUFFER_SIZE (64 << 10)

/* glibc's bits in FILE._flags of a stream that must not be read, or not be written. */
#define NO_READS  0x4
#define NO_WRITES 0x8

static struct run_stream *streams; /* lock: lock */
static atomic_int count, wide;     /* of them, to look at without the lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void run_streams_lock(void)
{
    pthread_mutex_lock(&lock);
}

void run_streams_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

struct run_stream *run_streams_find(FILE *file)
{
    struct run_stream *stream;

    if (atomic_load(&count) == 0)
        return NULL;
    pthread_mutex_lock(&lock);
    for (stream = streams; stream != NULL && stream->file != file; stream = stream->next)
        continue;
    pthread_mutex_unlock(&lock);
    return stream;
}

bool run_streams_are_wide(void)
{
    return atomic_load(&wide) > 0;
}

/* fflush writes what file holds, and moves back over what it has read ahead. */
void run_streams_widen(struct run_stream *stream)
{
    if (stream->wide)
        return;
    RUN_NEXT(fflush)(stream->file);
    if (stream->bytes)
        RUN_NEXT(fwide)(stream->real, -1);
    stream->wide = true;
    atomic_fetch_add(&wide, 1);
}

static int descriptor_of(const struct run_stream *stream)
{
    return RUN_NEXT(fileno)(stream->real);
}

static ssize_t read_stream(void *cookie, char *buffer, size_t length)
{
    struct run_stream *stream = cookie;

    stream->bytes = true;
    return read(descriptor_of(stream), buffer, length);
}

/* A stream takes 0 for an error. */
static ssize_t write_stream(void *cookie, const char *buffer, size_t length)
{
    struct run_stream *stream = cookie;
    ssize_t put;

    stream->bytes = true;
    put = write(descriptor_of(stream), buffer, length);
    return put < 0 ? 0 : put;
}

static int seek_stream(void *cookie, off64_t *offset, int whence)
{
    off64_t place = lseek64(descriptor_of(cookie), *offset, whence);

    if (place < 0)
        return -1;
    *offset = place;
    return 0;
}

/* Takes the stream out of the list. */
static void take_out(struct run_stream *stream)
{
    struct run_stream **link = &streams;

    pthread_mutex_lock(&lock);
    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
    atomic_fetch_sub(&count, 1);
    if (stream->wide)
        atomic_fetch_sub(&wide, 1);
    pthread_mutex_unlock(&lock);
}

static int close_stream(void *cookie)
{
    struct run_stream *stream = cookie;
    FILE *real = stream->real;

    take_out(stream);
    free(stream);
    if (real == NULL)
        return 0;
    run_leave(RUN_NEXT(fileno)(real));
    return RUN_NEXT(fclose)(real);
}

/* Returns the program's stream in front of real, whose slice is granted, or real without memory. */
static FILE *make_stream(FILE *real)
{
    struct run_stream *stream = calloc(1, sizeof(*stream));
    const cookie_io_functions_t calls = {
        .read = read_stream, .write = write_stream, .seek = seek_stream, .close = close_stream};
    const char *mode = !__fwritable(real) ? "r" : __freadable(real) ? "r+" : "w";

    if (stream == NULL)
        return real;
    stream->real = real;
    stream->file = fopencookie(stream, mode, calls);
    if (stream->file == NULL) {
        free(stream);
        return real;
    }
    setvbuf(stream->file, NULL, _IOFBF, BUFFER_SIZE);
    pthread_mutex_lock(&lock);
    stream->next = streams;
    streams = stream;
    atomic_fetch_add(&count, 1);
    pthread_mutex_unlock(&lock);
    return stream->file;
}

/* A stream of an encoding (",ccs=") has wide characters from the start. */
static bool has_encoding(const char *mode)
{
    return strchr(mode, ',') != NULL;
}

/* Returns what fopen(3) returns to the program for a stream that the C library has just opened. */
static FILE *opened(FILE *file, const char *mode)
{
    int error = errno;
    int fd;

    if (file == NULL || run_inside > 0)
        return file;
    fd = RUN_NEXT(fileno)(file);
    run_leave(fd); /* what had the number was closed unseen */
    if (run_grant_ask(fd) && !has_encoding(mode))
        file = make_stream(file);
    errno = error;
    return file;
}

#define CATCH_FOPEN(name)                                                                          \
    CATCH FILE *name(const char *path, const char *mode)                                           \
    {                                                                                              \
        return opened(RUN_NEXT(name)(path, mode), mode);                                           \
    }

CATCH_FOPEN(fopen)
CATCH_FOPEN(fopen64)

/* Mode "a" sets O_APPEND, by a call that is not caught. */
CATCH FILE *fdopen(int fd, const char *mode)
{
    FILE *file = RUN_NEXT(fdopen)(fd, mode);
    int flags, error = errno;

    if (file == NULL || !run_is_granted(fd))
        return file;
    flags = RUN_NEXT(fcntl)(fd, F_GETFL);
    run_withdraw(fd, flags);
    if ((flags & RUN_FOREIGN_FLAGS) == 0 && !has_encoding(mode))
        file = make_stream(file);
    errno = error;
    return file;
}

#define CATCH_FILENO(name)                                                                         \
    CATCH int name(FILE *file)                                                                     \
    {                                                                                              \
        struct run_stream *stream = run_streams_find(file);                                        \
        return RUN_NEXT(name)(stream != NULL ? stream->real : file);                               \
    }

CATCH_FILENO(fileno)
CATCH_FILENO(fileno_unlocked)

/* Makes the program's stream look newly opened, as real is. */
static FILE *renew(struct run_stream *stream)
{
    FILE *file = stream->file;
    int flags =
        (__freadable(stream->real) ? 0 : NO_READS) | (__fwritable(stream->real) ? 0 : NO_WRITES);
    int fd = descriptor_of(stream);

    stream->bytes = false;
    rewind(file); /* forgets where it was, and what it has read */
    __fpurge(file);
    if ((RUN_NEXT(fcntl)(fd, F_GETFL) & O_APPEND) != 0)
        fseek(file, 0, SEEK_END);
    clearerr(file);
    file->_flags = (file->_flags & ~(NO_READS | NO_WRITES)) | flags;
    run_leave(fd);
    run_grant_ask(fd);
    return file;
}

/* Ends freopen(3): the C library has opened real again, or failed. The program's FILE stays. */
static FILE *reopened(struct run_stream *stream, FILE *real)
{
    int error = errno;

    if (stream->wide)
        atomic_fetch_sub(&wide, 1);
    stream->wide = false;
    stream->real = real;
    if (real != NULL) {
        renew(stream);
        errno = error;
        return stream->file;
    }
    RUN_NEXT(fclose)(stream->file);
    errno = error;
    return NULL;
}

#define CATCH_FREOPEN(name)                                                                        \
    CATCH FILE *name(const char *path, const char *mode, FILE *file)                               \
    {                                                                                              \
        struct run_stream *stream = run_streams_find(file);                                        \
        FILE *real;                                                                                \
        if (stream == NULL) {                                                                      \
            real = RUN_NEXT(name)(path, mode, file);                                               \
            if (file == stderr && run_is_home())                                                   \
                run_stats_start();                                                                 \
            return real;                                                                           \
        }                                                                                          \
        RUN_NEXT(fflush)(stream->wide ? stream->real : file);                                      \
        run_leave(descriptor_of(stream));                                                          \
        return reopened(stream, RUN_NEXT(name)(path, mode, stream->real));                         \
    }

CATCH_FREOPEN(freopen)
CATCH_FREOPEN(freopen64)

void run_streams_flush(void)
{
    if (atomic_load(&count) > 0)
        RUN_NEXT(fflush)(NULL);
}
