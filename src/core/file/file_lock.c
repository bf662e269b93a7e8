/* SPDX-License-Identifier: MIT */
#include "exclusion.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "core/base/fd_link.h"
#include "core/base/thread.h"

/* Locks of byte ranges of a file. */

void mpiio_file_locks_init(struct mpiio_file_locks *locks, int fd, int64_t base, bool writable)
{
    *locks = (struct mpiio_file_locks){.fd = fd, .base = base, .writable = writable};
    pthread_mutex_init(&locks->lock, NULL);
}

void mpiio_file_locks_destroy(struct mpiio_file_locks *locks)
{
    for (int i = 0; i < locks->kept; i++)
        close(locks->description[i]);
    pthread_mutex_destroy(&locks->lock);
}

/* Returns an open file description that holds no lock, or a negative errno. */
static int take_description(struct mpiio_file_locks *locks)
{
    int fd;

    if (locks->fd < 0)
        return -EOPNOTSUPP;
    fd = MPIIO_LOCKED(&locks->lock, locks->kept > 0 ? locks->description[--locks->kept] : -1);
    if (fd >= 0)
        return fd;
    return mpiio_fd_reopen(locks->fd, locks->writable ? O_RDWR : O_RDONLY);
}

static void give_description(struct mpiio_file_locks *locks, int fd)
{
    pthread_mutex_lock(&locks->lock);
    if (locks->kept < MPIIO_LOCKS_KEPT) {
        locks->description[locks->kept++] = fd;
        fd = -1;
    }
    pthread_mutex_unlock(&locks->lock);
    if (fd >= 0)
        close(fd);
}

/* Passes end = INT64_MAX as length 0, which means all following bytes. */
static int set_lock(int fd, int command, int64_t start, int64_t end, int kind)
{
    struct flock range = {
        .l_type = (short)kind,
        .l_whence = SEEK_SET,
        .l_start = start,
        .l_len = end == INT64_MAX ? 0 : end - start,
    };

    return TEMP_FAILURE_RETRY(fcntl(fd, command, &range)) < 0 ? -errno : 0;
}

/* Moves a range up by base, clipped to the space from base to 2 * base. */
static void move_range(int64_t base, int64_t *start, int64_t *end)
{
    if (base == 0)
        return;
    *start = base + (*start < base ? *start : base - 1);
    *end = base + (*end < base ? *end : base);
}

static bool has_no_locks(int error)
{
    return error == -ENOLCK || error == -EOPNOTSUPP || error == -ENOSYS;
}

static int acquire_lock(struct mpiio_file_locks *locks, int command, int64_t start, int64_t end,
                        bool exclusive, struct mpiio_lock *lock)
{
    int fd = take_description(locks);
    int error;

    if (fd < 0)
        return fd;
    move_range(locks->base, &start, &end);
    error = set_lock(fd, command, start, end, exclusive ? F_WRLCK : F_RDLCK);
    if (error != 0) {
        give_description(locks, fd);
        return has_no_locks(error) ? -EOPNOTSUPP : error;
    }
    lock->description = fd;
    lock->base = locks->base;
    return 0;
}

int mpiio_file_lock_acquire(struct mpiio_file_locks *locks, int64_t start, int64_t end,
                            bool exclusive, struct mpiio_lock *lock)
{
    return acquire_lock(locks, F_OFD_SETLKW, start, end, exclusive, lock);
}

/* Maps the errors of fcntl(2) for a conflicting lock to -EAGAIN. */
static int in_the_way(int error)
{
    return error == -EACCES ? -EAGAIN : error;
}

int mpiio_file_lock_try(struct mpiio_file_locks *locks, int64_t start, int64_t end, bool exclusive,
                        struct mpiio_lock *lock)
{
    return in_the_way(acquire_lock(locks, F_OFD_SETLK, start, end, exclusive, lock));
}

int mpiio_file_lock_extend(struct mpiio_lock *lock, int64_t start, int64_t end, bool exclusive)
{
    int kind = exclusive ? F_WRLCK : F_RDLCK;

    move_range(lock->base, &start, &end);
    return in_the_way(set_lock(lock->description, F_OFD_SETLK, start, end, kind));
}

void mpiio_file_lock_release(struct mpiio_file_locks *locks, struct mpiio_lock *lock)
{
    /* If a description cannot release its lock, closing it does. */
    if (set_lock(lock->description, F_OFD_SETLKW, 0, INT64_MAX, F_UNLCK) != 0)
        close(lock->description);
    else
        give_description(locks, lock->description);
}
