/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_STORE_CACHE_H
#define MPIIO_STORE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "store.h"

/* The cache of a store (cache.h): for whoever owns both. Not installed. */
struct mpiio_cache;

/*
 * Puts a cache of at most dirty_max bytes under store, which is open for writing, has none yet, and
 * outlives it; its slices are not in use yet. *cache is the caller's, to be freed by
 * mpiio_store_drop_cache. 0 or a negative errno.
 */
int mpiio_store_add_cache(struct mpiio_store *store, int64_t dirty_max, struct mpiio_cache **cache);

/*
 * Frees the cache, and the dirty data that is left; the store is written through from then on. No
 * other thread may use either. NULL is allowed.
 */
void mpiio_store_drop_cache(struct mpiio_store *store, struct mpiio_cache *cache);

/*
 * Has the store's slices go past the cache, to the file, with cache NULL, or to cache again.
 * Nothing may be dirty, and no slice be read or written meanwhile.
 */
void mpiio_store_use_cache(struct mpiio_store *store, struct mpiio_cache *cache);

#endif
