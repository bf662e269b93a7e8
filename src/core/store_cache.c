/* SPDX-License-Identifier: MIT */
#include "store_cache.h"

#include "store_private.h"

int mpiio_store_add_cache(struct mpiio_store *store, int64_t dirty_max, struct mpiio_cache **cache)
{
    int error = mpiio_cache_new(store->file, dirty_max, cache);

    if (error == 0)
        store->cache = *cache;
    return error;
}

void mpiio_store_drop_cache(struct mpiio_store *store, struct mpiio_cache *cache)
{
    if (cache == NULL)
        return;
    store->cache = NULL;
    mpiio_cache_free(cache);
}

void mpiio_store_use_cache(struct mpiio_store *store, struct mpiio_cache *cache)
{
    store->cache = cache;
}
