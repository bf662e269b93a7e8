/* SPDX-License-Identifier: MIT */
#include "store_fence.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "store_private.h"

/* ms between two attempts. */
#define PAUSE 20

int mpiio_store_fence_open(const char *path)
{
    return open(path, O_RDWR | O_CLOEXEC);
}

static int set_lock(int fd, short kind)
{
    struct flock byte = {
        .l_type = kind, .l_whence = SEEK_SET, .l_start = MPIIO_STORE_FENCE_BYTE, .l_len = 1};

    return fcntl(fd, F_OFD_SETLK, &byte);
}

bool mpiio_store_fence_enter(int fd)
{
    return fd >= 0 && set_lock(fd, F_RDLCK) == 0;
}

void mpiio_store_fence_leave(int fd)
{
    set_lock(fd, F_UNLCK);
}

static int try_lock(struct mpiio_file_locks *locks)
{
    struct mpiio_lock lock;
    int error =
        mpiio_file_lock_try(locks, MPIIO_STORE_FENCE_BYTE, MPIIO_STORE_FENCE_BYTE + 1, true, &lock);

    if (error == 0)
        mpiio_file_lock_release(locks, &lock);
    return error == -EOPNOTSUPP ? 0 : error;
}

int mpiio_store_fence_await(struct mpiio_store *store, int timeout, void (*wait)(void *argument),
                            void *argument)
{
    const struct timespec pause = {.tv_nsec = PAUSE * 1000000};
    int64_t end = mpiio_lease_clock() + timeout;
    struct mpiio_file_locks locks;
    int64_t base;
    int error;

    if (!store->file->writable)
        return 0;
    mpiio_file_locks_init(&locks, store->file->ops->lock_place(store->file, &base), 0, true);
    error = try_lock(&locks);
    if (error == -EAGAIN)
        wait(argument);
    while (error == -EAGAIN && mpiio_lease_clock() < end) {
        nanosleep(&pause, NULL);
        error = try_lock(&locks);
    }
    mpiio_file_locks_destroy(&locks);
    return error == -EAGAIN ? -ETIMEDOUT : error;
}
