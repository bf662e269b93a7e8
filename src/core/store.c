/* SPDX-License-Identifier: MIT */
#include "store_layers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/cache/cache.h"
#include "store_private.h"

int mpiio_store_of_file(struct mpiio_file *file, struct mpiio_store **store)
{
    struct mpiio_store *new = calloc(1, sizeof(*new));

    if (new == NULL) {
        mpiio_file_close(file);
        return -ENOMEM;
    }
    new->file = file;
    new->top = &file->source;
    mpiio_file_locks_init(&new->locks, file->lock_fd, file->lock_base, file->writable);
    mpiio_rwlock_init(&new->elements_lock);
    pthread_mutex_init(&new->append_lock, NULL);
    *store = new;
    return 0;
}

int mpiio_store_open(const char *path, int flags, struct mpiio_store **store)
{
    struct mpiio_file *file;
    int error = mpiio_file_open(path, flags, &file);

    return error != 0 ? error : mpiio_store_of_file(file, store);
}

void mpiio_store_close(struct mpiio_store *store)
{
    if (store != NULL) {
        pthread_mutex_destroy(&store->append_lock);
        pthread_rwlock_destroy(&store->elements_lock);
        mpiio_file_locks_destroy(&store->locks);
        mpiio_file_close(store->file);
        free(store);
    }
}

/* The file. */

bool mpiio_store_has_members(const struct mpiio_store *store)
{
    return mpiio_file_is_fixed(store->file);
}

struct mpiio_file *mpiio_store_file(const struct mpiio_store *store)
{
    return store->file;
}

int mpiio_store_stat(struct mpiio_store *store, struct stat *st)
{
    return store->file->ops->stat(store->file, st);
}

int64_t mpiio_store_seek(struct mpiio_store *store, int64_t displacement, int whence)
{
    return store->file->source.ops->seek(&store->file->source, displacement, whence);
}

int mpiio_store_fd(const struct mpiio_store *store)
{
    return store->file->fd;
}

void mpiio_store_wrote(struct mpiio_store *store, int64_t start, int64_t end)
{
    store->file->ops->wrote(store->file, start, end);
}

int mpiio_store_sync(struct mpiio_store *store, bool data_only)
{
    return store->file->ops->sync(store->file, data_only);
}

int mpiio_store_set_times(struct mpiio_store *store, const struct timespec times[2])
{
    return store->file->ops->set_times(store->file, times);
}

void mpiio_store_counters(const struct mpiio_store *store, struct mpiio_counters *counters)
{
    uint64_t values[MPIIO_COUNTERS];

    for (size_t i = 0; i < MPIIO_COUNTERS; i++)
        values[i] = atomic_load_explicit(&store->file->counters[i], memory_order_relaxed);
    memcpy(counters, values, sizeof(values));
}

int64_t mpiio_store_size(struct mpiio_store *store)
{
    struct mpiio_source *top = store->top;
    int64_t size = top->ops->size(top);

    if (size >= 0 && mpiio_store_last_size(store) != size)
        atomic_store_explicit(&store->last_size, size, memory_order_relaxed);
    return size;
}

/* Layers. */

static const struct mpiio_source_ops ops = {
    .read_runs = mpiio_cache_read,
    .write_runs = mpiio_cache_write,
    .size = mpiio_cache_size,
    .seek = mpiio_cache_seek,
    .await = mpiio_cache_await,
};

int mpiio_store_add_cache(struct mpiio_store *store, int64_t dirty_max, struct mpiio_cache **cache)
{
    int error = mpiio_cache_new(store->file, &ops, dirty_max, cache);

    if (error == 0)
        mpiio_store_use_cache(store, *cache);
    return error;
}

void mpiio_store_drop_cache(struct mpiio_store *store, struct mpiio_cache *cache)
{
    if (cache == NULL)
        return;
    mpiio_store_use_cache(store, NULL);
    mpiio_cache_free(cache);
}

void mpiio_store_use_cache(struct mpiio_store *store, struct mpiio_cache *cache)
{
    store->top = cache != NULL ? (struct mpiio_source *)cache : &store->file->source;
}

void mpiio_store_set_reader(struct mpiio_store *store, struct mpiio_reader *reader)
{
    store->file->ops->be_exact(store->file);
    store->file->reader = reader;
}

int64_t mpiio_store_read_file(struct mpiio_store *store, void *buffer, size_t length,
                              int64_t displacement)
{
    struct mpiio_counters done = {0};
    struct mpiio_file *file = store->file;
    int64_t got = file->exact >= 0
                      ? mpiio_file_pread_all(file->exact, buffer, length, displacement, &done)
                      : file->ops->pread(file, buffer, length, displacement, &done);

    mpiio_file_count(file, &done);
    return got;
}

/* The fence. */

/* ms between two attempts. */
#define PAUSE 20

static int set_fence(int fd, short kind)
{
    struct flock byte = {
        .l_type = kind, .l_whence = SEEK_SET, .l_start = MPIIO_STORE_FENCE_BYTE, .l_len = 1};

    return fcntl(fd, F_OFD_SETLK, &byte);
}

bool mpiio_store_fence_enter(int fd)
{
    return fd >= 0 && set_fence(fd, F_RDLCK) == 0;
}

void mpiio_store_fence_leave(int fd)
{
    set_fence(fd, F_UNLCK);
}

static int try_fence(struct mpiio_file_locks *locks)
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
    int error;

    if (!store->file->writable)
        return 0;
    mpiio_file_locks_init(&locks, store->file->lock_fd, 0, true);
    error = try_fence(&locks);
    if (error == -EAGAIN)
        wait(argument);
    while (error == -EAGAIN && mpiio_lease_clock() < end) {
        nanosleep(&pause, NULL);
        error = try_fence(&locks);
    }
    mpiio_file_locks_destroy(&locks);
    return error == -EAGAIN ? -ETIMEDOUT : error;
}
