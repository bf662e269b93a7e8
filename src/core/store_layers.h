/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_STORE_LAYERS_H
#define MPIIO_STORE_LAYERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/file/file.h"
#include "core/members/assembled.h"
#include "store.h"

/*
 * The layers of a store: its file, write-back over that (cache.h), and a reader of the file
 * (file/source.h). For the owner of the layers and the store. Not installed.
 */
struct mpiio_cache;

/* Returns true if the store is assembled from members. */
bool mpiio_store_has_members(const struct mpiio_store *store);

/*
 * Returns the store's file, borrowed, for the functions of file/file.h; and, if it is assembled,
 * for those of members/assembled.h. Reads and writes of it bypass the store's cache.
 */
struct mpiio_file *mpiio_store_file(const struct mpiio_store *store);

/*
 * Puts a cache of at most dirty_max bytes over store's file. The store must be open for writing,
 * have no cache yet, and outlive the cache. Its slices must not be in use yet. The caller frees
 * *cache by mpiio_store_drop_cache. Returns 0 or a negative errno.
 */
int mpiio_store_add_cache(struct mpiio_store *store, int64_t dirty_max, struct mpiio_cache **cache);

/*
 * Frees the cache and drops remaining dirty data. Later writes to the store go to its file. No
 * other thread may use either. NULL is allowed.
 */
void mpiio_store_drop_cache(struct mpiio_store *store, struct mpiio_cache *cache);

/*
 * Makes the store's slices bypass the cache (NULL), or use cache again. Nothing may be dirty, and
 * no thread may read or write a slice meanwhile.
 */
void mpiio_store_use_cache(struct mpiio_store *store, struct mpiio_cache *cache);

/* Makes reads of the store ask reader first. reader is borrowed. Call once, before slices are
   used. */
void mpiio_store_set_reader(struct mpiio_store *store, struct mpiio_reader *reader);

/*
 * Reads length bytes of the file itself at displacement, like pread(2), bypassing the cache and the
 * reader; after mpiio_store_set_reader without the kernel's readahead. Counts them as the store's.
 * Returns the number of bytes read, fewer only at the end of the file, or a negative errno.
 * Thread-safe.
 */
int64_t mpiio_store_read_file(struct mpiio_store *store, void *buffer, size_t length,
                              int64_t displacement);

/*
 * The fence between an engine that stores and nodes that go on without it: a lock on one byte of
 * the file, far beyond any data. An engine holds it, shared with the other engines, during each
 * store, from before it checks its lease (clock.h) until the store has finished. A node that will
 * store alone first acquires it once, exclusively. So a store that has begun under a lease ends
 * before that, and one that begins later finds the lease expired.
 *
 * An engine never waits for the lock. If another program's lock conflicts, or the filesystem has no
 * locks, the lease alone counts.
 */
#define MPIIO_STORE_FENCE_BYTE ((int64_t)1 << 62)

/* Tries to acquire the lock for fd, an engine's own description of the file, open for reading and
   writing. Returns false if that is not possible now, or if fd is negative. Async-signal-safe, like
   its release. */
bool mpiio_store_fence_enter(int fd);
void mpiio_store_fence_leave(int fd);

/*
 * Waits for up to timeout ms until no engine of any node is in a store. Returns 0 then, and also if
 * the filesystem has no locks or the file is not writable. Returns -ETIMEDOUT if an engine still is
 * in a store, or another program has a lock on the whole file; or another negative errno. Calls
 * wait(argument) once if it must wait.
 */
int mpiio_store_fence_await(struct mpiio_store *store, int timeout, void (*wait)(void *argument),
                            void *argument);

#endif
