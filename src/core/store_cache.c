/* SPDX-License-Identifier: MIT */
#include "store_cache.h"

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
