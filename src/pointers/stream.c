/* SPDX-License-Identifier: MIT */
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fd_link.h"

struct mpiio_stream {
    int fd;
    size_t etype;

    pthread_mutex_t lock;
    TAILQ_HEAD(, mpiio_stream_waiter) waiters; /* the first has its turn; lock: lock */
    bool stopped;                              /* lock: lock */

    /* The beginning of an etype that was read; of the first of those that wait, who reads. */
    char *part;
    size_t part_length;
};

/* Opens the FIFO or character device that found (O_PATH) is, and nothing that took its name. */
static int open_found(int found, bool writes)
{
    struct stat st;
    int flags = O_RDONLY;

    if (fstat(found, &st) != 0)
        return -errno;
    if (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
        return -EINVAL;
    /* Opening a FIFO O_RDWR does not block on Linux even if no peer has it open yet. */
    if (writes)
        flags = S_ISFIFO(st.st_mode) ? O_RDWR : O_WRONLY;
    return mpiio_fd_reopen(found, O_NONBLOCK | O_NOCTTY | flags);
}

int mpiio_stream_open(const char *path, bool writes, size_t etype, struct mpiio_stream **stream)
{
    struct mpiio_stream *self;
    int found = open(path, O_PATH | O_CLOEXEC), fd;

    if (found < 0)
        return -errno;
    fd = open_found(found, writes);
    close(found);
    if (fd < 0)
        return fd;
    self = calloc(1, sizeof(*self));
    if (self != NULL)
        self->part = malloc(etype);
    if (self == NULL || self->part == NULL) {
        free(self);
        close(fd);
        return -ENOMEM;
    }
    self->fd = fd;
    self->etype = etype;
    pthread_mutex_init(&self->lock, NULL);
    TAILQ_INIT(&self->waiters);
    *stream = self;
    return 0;
}

void mpiio_stream_free(struct mpiio_stream *stream)
{
    if (stream == NULL)
        return;
    close(stream->fd);
    pthread_mutex_destroy(&stream->lock);
    free(stream->part);
    free(stream);
}

static void ring(const struct mpiio_stream_waiter *waiter)
{
    eventfd_write(waiter->bell, 1);
}

/* Joins the queue. Returns 0 or a negative errno; leave_stream is due in either case. */
static int enter_stream(struct mpiio_stream *stream, struct mpiio_stream_waiter *waiter)
{
    int error;

    pthread_mutex_lock(&stream->lock);
    waiter->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    error = waiter->bell < 0 ? -errno : 0;
    TAILQ_INSERT_TAIL(&stream->waiters, waiter, waiters);
    pthread_mutex_unlock(&stream->lock);
    return error;
}

static void leave_stream(struct mpiio_stream *stream, struct mpiio_stream_waiter *waiter)
{
    pthread_mutex_lock(&stream->lock);
    TAILQ_REMOVE(&stream->waiters, waiter, waiters);
    if (!TAILQ_EMPTY(&stream->waiters))
        ring(TAILQ_FIRST(&stream->waiters));
    if (waiter->bell >= 0)
        close(waiter->bell);
    waiter->bell = 0;
    pthread_mutex_unlock(&stream->lock);
}

/* Returns 0 if the caller may wait, or the errno with which its call ends. Sets *first to whether
   it is the first in the queue. */
static int look_at_queue(struct mpiio_stream *stream, const struct mpiio_stream_waiter *waiter,
                         bool finishes, bool *first)
{
    int error = 0;

    pthread_mutex_lock(&stream->lock);
    *first = TAILQ_FIRST(&stream->waiters) == waiter;
    if (stream->stopped)
        error = -ENOTCONN;
    else if (waiter->ended && !finishes)
        error = -EINTR;
    pthread_mutex_unlock(&stream->lock);
    return error;
}

/* Waits until the caller is the first in the queue, which it then stays, and the file may be read
   or written. finishes: it cannot be interrupted. Returns 0 or a negative errno. */
static int await_stream(struct mpiio_stream *stream, const struct mpiio_stream_waiter *waiter,
                        short events, bool finishes)
{
    /* poll(2) ignores descriptors below 0. */
    struct pollfd both[] = {{.fd = -1, .events = events}, {.fd = waiter->bell, .events = POLLIN}};
    bool first;
    int error = look_at_queue(stream, waiter, finishes, &first);

    while (error == 0 && both[0].revents == 0) {
        eventfd_t count;

        both[0].fd = first ? stream->fd : -1;
        poll(both, 2, -1);
        if (both[1].revents != 0)
            eventfd_read(waiter->bell, &count);
        error = look_at_queue(stream, waiter, finishes, &first);
    }
    return error;
}

/* Returns the size in bytes of the whole etypes at buffer. Keeps the rest for the next read. */
static ssize_t cut(struct mpiio_stream *stream, const char *buffer, size_t got)
{
    size_t left = got % stream->etype;

    memcpy(stream->part, buffer + got - left, left);
    stream->part_length = left;
    return (ssize_t)(got - left);
}

static ssize_t read_etypes(struct mpiio_stream *stream, char *buffer, size_t length,
                           const struct mpiio_stream_waiter *waiter)
{
    ssize_t got = 0;

    do {
        int error = await_stream(stream, waiter, POLLIN, false);
        size_t kept = stream->part_length;

        if (error != 0)
            return error;
        memcpy(buffer, stream->part, kept);
        got = read(stream->fd, buffer + kept, length - kept);
        if (got < 0 && errno != EAGAIN && errno != EINTR)
            return -errno;
        if (got == 0)
            stream->part_length = 0;
        else if (got > 0)
            got = cut(stream, buffer, kept + (size_t)got);
        else
            got = -1;
    } while (got < 0 || (got == 0 && stream->part_length > 0));
    return got;
}

ssize_t mpiio_stream_read(struct mpiio_stream *stream, void *buffer, size_t length,
                          struct mpiio_stream_waiter *waiter)
{
    ssize_t got;

    length -= length % stream->etype;
    if (length == 0)
        return -EINVAL;
    got = enter_stream(stream, waiter);
    if (got == 0)
        got = read_etypes(stream, buffer, length, waiter);
    leave_stream(stream, waiter);
    return got;
}

/* Returns the number of bytes of the next write: whole etypes up to PIPE_BUF, which a FIFO takes
   all or not at all, or everything if a single etype is larger. */
static size_t next_write(const struct mpiio_stream *stream, size_t left)
{
    size_t most = PIPE_BUF - PIPE_BUF % stream->etype;

    return most > 0 && left > most ? most : left;
}

static ssize_t write_etypes(struct mpiio_stream *stream, const char *buffer, size_t length,
                            const struct mpiio_stream_waiter *waiter)
{
    size_t etype = stream->etype, done = 0;
    int error = 0;

    while (done < length && error == 0) {
        ssize_t put;

        error = await_stream(stream, waiter, POLLOUT, done % etype != 0);
        if (error != 0)
            break;
        put = write(stream->fd, buffer + done, next_write(stream, length - done));
        if (put > 0)
            done += (size_t)put;
        else if (put < 0 && errno != EAGAIN && errno != EINTR)
            error = -errno;
    }
    done -= done % etype;
    return done > 0 ? (ssize_t)done : error;
}

ssize_t mpiio_stream_write(struct mpiio_stream *stream, const void *buffer, size_t length,
                           struct mpiio_stream_waiter *waiter)
{
    ssize_t put = enter_stream(stream, waiter);

    if (put == 0)
        put = write_etypes(stream, buffer, length, waiter);
    leave_stream(stream, waiter);
    return put;
}

void mpiio_stream_interrupt(struct mpiio_stream *stream, struct mpiio_stream_waiter *waiter)
{
    pthread_mutex_lock(&stream->lock);
    waiter->ended = true;
    if (waiter->bell > 0)
        ring(waiter);
    pthread_mutex_unlock(&stream->lock);
}

void mpiio_stream_stop(struct mpiio_stream *stream)
{
    struct mpiio_stream_waiter *waiter;

    pthread_mutex_lock(&stream->lock);
    stream->stopped = true;
    TAILQ_FOREACH (waiter, &stream->waiters, waiters)
        ring(waiter);
    pthread_mutex_unlock(&stream->lock);
}
