/* SPDX-License-Identifier: MIT */
#include "store_layers.h"

#include "core/cache/cache_read.h"
#include "core/cache/cache_write.h"
#include "store_private.h"

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
    int64_t got = store->file->ops->pread_exactly(store->file, buffer, length, displacement, &done);

    mpiio_file_count(store->file, &done);
    return got;
}

void mpiio_store_on_wait(struct mpiio_store *store, void (*wait)(void *argument, bool waits),
                         void *argument)
{
    store->wait = wait;
    store->wait_argument = argument;
}
