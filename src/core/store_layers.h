/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_STORE_LAYERS_H
#define MPIIO_STORE_LAYERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/file/reader.h"
#include "store.h"

/*
 * The layers of a store: write-back over its file (cache.h), a reader of the file
 * (file/reader.h), and waits for its locks. For whoever owns them and the store. Not installed.
 */
struct mpiio_cache;

/*
 * Puts a cache of at most dirty_max bytes over store's file. The store is open for writing, has no
 * cache yet, and outlives it; its slices are not in use yet. *cache is the caller's, to be freed by
 * mpiio_store_drop_cache. Returns 0 or a negative errno.
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

/* Has the store's slices ask reader first, which is borrowed. Once, before they are used. */
void mpiio_store_set_reader(struct mpiio_store *store, struct mpiio_reader *reader);

/*
 * For the reader: length bytes of the file itself at displacement, by pread(2), none ahead of them,
 * counted as the store's. Returns how many there are, or a negative errno. Thread-safe.
 */
int64_t mpiio_store_read_file(struct mpiio_store *store, void *buffer, size_t length,
                              int64_t displacement);

/*
 * Has wait(argument, true) called by a writer that is about to wait for a lock of the file which
 * another program holds, and wait(argument, false) when that wait is over. To be set before slices
 * are used.
 */
void mpiio_store_on_wait(struct mpiio_store *store, void (*wait)(void *argument, bool waits),
                         void *argument);

#endif
