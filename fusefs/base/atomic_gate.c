/* SPDX-License-Identifier: MIT */
#include "atomic_gate.h"

#include <errno.h>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/file/file.h"

/* The time to wait for releases, in ms. The kernel does not wait for them. */
#define RELEASE_MS 1000

void fs_atomic_init(struct fs_atomic *atomic, struct fs_workers *workers)
{
    *atomic = (struct fs_atomic){.workers = workers};
    pthread_mutex_init(&atomic->lock, NULL);
    pthread_cond_init(&atomic->changed, NULL);
}

void fs_atomic_free(struct fs_atomic *atomic)
{
    if (atomic->has_locks)
        mpiio_exclusion_destroy(&atomic->accesses);
    pthread_cond_destroy(&atomic->changed);
    pthread_mutex_destroy(&atomic->lock);
}

bool fs_atomic_is_on(const struct fs_atomic *atomic)
{
    return atomic_load(&atomic->on);
}

/*
 * Waits until no change of the mode is in progress. Other nodes may have to agree to one. Lock
 * held.
 */
static void await_change(struct fs_atomic *atomic)
{
    assert(mpiio_is_held(&atomic->lock));
    fs_workers_pause(atomic->workers);
    while (atomic->changing)
        pthread_cond_wait(&atomic->changed, &atomic->lock);
    fs_workers_resume(atomic->workers);
}

void fs_atomic_enter(struct fs_atomic *atomic)
{
    pthread_mutex_lock(&atomic->lock);
    if (atomic->changing)
        await_change(atomic);
    atomic->open++;
    pthread_mutex_unlock(&atomic->lock);
}

void fs_atomic_leave(struct fs_atomic *atomic)
{
    pthread_mutex_lock(&atomic->lock);
    if (--atomic->open == 0)
        pthread_cond_broadcast(&atomic->changed);
    pthread_mutex_unlock(&atomic->lock);
}

int fs_atomic_begin(struct fs_atomic *atomic, struct mpiio_slice *slice, int64_t offset,
                    int64_t length, bool writes, struct mpiio_access **access)
{
    struct mpiio_exclusion *accesses = &atomic->accesses;
    int error;

    if (!fs_atomic_is_on(atomic)) {
        *access = NULL;
        return 0;
    }
    fs_workers_pause(atomic->workers);
    error = offset < 0 ? mpiio_exclusion_begin(accesses, NULL, 0, INT64_MAX, writes, *access)
                       : mpiio_slice_access(slice, accesses, offset, length, writes, *access);
    fs_workers_resume(atomic->workers);
    if (error != 0)
        return error;
    /*
     * A write depends on no other bytes, so this host's copy may be stale; an append needs the
     * size.
     */
    error = !writes || offset < 0 ? mpiio_file_refresh(mpiio_slice_file(slice)) : 0;
    if (error != 0)
        mpiio_exclusion_end(accesses, *access);
    return error;
}

void fs_atomic_end(struct fs_atomic *atomic, struct mpiio_access *access)
{
    if (access != NULL)
        mpiio_exclusion_end(&atomic->accesses, access);
}

ssize_t fs_atomic_end_write(struct fs_atomic *atomic, struct mpiio_slice *slice,
                            struct mpiio_access *access, ssize_t put)
{
    int error = access != NULL && put > 0 ? mpiio_file_publish(mpiio_slice_file(slice)) : 0;

    fs_atomic_end(atomic, access);
    return error != 0 ? error : put;
}

/* Functions for a change of the mode. */

int fs_atomic_get_locks(struct fs_atomic *atomic, int fd, int64_t base, bool writable)
{
    int error = 0;

    pthread_mutex_lock(&atomic->lock);
    if (!atomic->has_locks)
        error = mpiio_exclusion_init(&atomic->accesses, fd, base, writable);
    if (error == 0)
        atomic->has_locks = true;
    pthread_mutex_unlock(&atomic->lock);
    return error;
}

int fs_atomic_close_door(struct fs_atomic *atomic, uint64_t change)
{
    int error = 0;

    pthread_mutex_lock(&atomic->lock);
    if (atomic->open > 0 || atomic->changing)
        error = -EBUSY;
    else if (change > atomic->settled)
        atomic->changing = true;
    pthread_mutex_unlock(&atomic->lock);
    return error;
}

void fs_atomic_open_door(struct fs_atomic *atomic, uint64_t change)
{
    pthread_mutex_lock(&atomic->lock);
    atomic->changing = false;
    if (change != UINT64_MAX)
        atomic->settled = change;
    pthread_cond_broadcast(&atomic->changed);
    pthread_mutex_unlock(&atomic->lock);
}

void fs_atomic_await_releases(struct fs_atomic *atomic)
{
    int64_t limit = mpiio_clock() + RELEASE_MS;

    pthread_mutex_lock(&atomic->lock);
    while (atomic->open > 0 && mpiio_wait_until(&atomic->changed, &atomic->lock, limit))
        continue;
    pthread_mutex_unlock(&atomic->lock);
}
