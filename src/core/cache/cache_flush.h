/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_CACHE_FLUSH_H
#define MPIIO_CACHE_FLUSH_H

#include "cache.h"

/* Freezing a generation, storing it, and resolving what became of it. */

/* A block of the frozen generation: it begins at displacement block * MPIIO_BLOCK_SIZE. */
struct mpiio_frozen {
    int64_t block;
    int slot;
    bool tried; /* some of it was frozen before, and stayed dirty */
};

/*
 * Makes the active generation the frozen one, at one moment for all of it. frozen gets its blocks,
 * ascending, in an array that is borrowed until the next freeze, count their number (0 where
 * nothing was dirty). mpiio_cache_resolve must follow. -EBUSY where one is frozen already.
 */
int mpiio_cache_freeze(struct mpiio_cache *cache, const struct mpiio_frozen **frozen,
                       size_t *count);

/*
 * The frozen generation is dealt with: errors has for each of its blocks, in their order, 0 where
 * all of it is stored in the file, else the negative errno; NULL: all are stored. What is not
 * stored stays dirty and the slices that have data there are told (mpiio_cache_error); but not for
 * -EAGAIN, which is for what was not tried yet: no block that was.
 */
void mpiio_cache_resolve(struct mpiio_cache *cache, const int *errors);

/*
 * Stores all that is dirty by this process alone, exactly: freezes, stores and resolves; first what
 * is frozen already, so nobody else may be storing it, or resolve it later. What fails stays dirty.
 * Returns 0 or the negative errno of the first block that failed. Does not sync the file. Calls
 * exclude each other.
 */
int mpiio_cache_store_all(struct mpiio_cache *cache);

/* Gives back the memory that is kept for reuse: to be called when nobody has written for a while.
 */
void mpiio_cache_trim(struct mpiio_cache *cache);

#endif
