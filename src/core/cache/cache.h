/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_CACHE_H
#define MPIIO_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/file/file.h"
#include "slots.h"

/*
 * Write-back: written bytes that are not stored yet, in blocks of the file with exact masks
 * (slots.h). If a store has a cache, its slices write to the cache instead of the file. Reads
 * overlay the cache's bytes on the file's (store_layers.h).
 *
 * There are two generations. Writers add to the active one. A flush freezes it: it becomes the
 * frozen one, which does not change while it is being stored, and an empty one becomes active. When
 * the outcome is known, the frozen one is resolved. Stored blocks are dropped. The others are
 * merged under the active ones, and the next flush retries them. The owner has a frozen generation
 * stored, either by the engines together, which use the slots, or alone by mpiio_cache_store_all.
 *
 * Unless stated otherwise, functions are local and thread-safe, and hold no lock during I/O. NULL
 * is an empty cache to mpiio_cache_is_empty, _error, _write_through, _stop, _get_stats, _store_all
 * and _free.
 */
struct mpiio_cache;

/*
 * Creates an empty cache over file, which is open for writing and outlives the cache. Its first
 * member is a struct mpiio_source with the operations ops, which are declared below.
 *
 * dirty_max > 0 bounds the memory of dirty data, in bytes: pages of 4 KiB of data and of masks, in
 * both generations together. Each thread may exceed it by one block. Memory kept for reuse adds up
 * to half of dirty_max. Returns 0 or a negative errno. (store_layers.h puts the cache under a
 * store.)
 */
int mpiio_cache_new(struct mpiio_file *file, const struct mpiio_source_ops *ops, int64_t dirty_max,
                    struct mpiio_cache **cache);

/* Frees the cache, and drops remaining dirty data. No other thread may use the cache. */
void mpiio_cache_free(struct mpiio_cache *cache);

/* Returns the slots, borrowed. The engine gets them by their descriptor. */
const struct mpiio_slots *mpiio_cache_slots(const struct mpiio_cache *cache);

/*
 * Sets a callback full(argument). A writing thread calls it when half or all of dirty_max is used
 * and no flush is under way: once until the next freeze, or once a second if the last flush failed.
 * The thread may hold a lock of slice.h, so full may only notify another thread. Call before the
 * slices are used.
 */
void mpiio_cache_on_full(struct mpiio_cache *cache, void (*full)(void *argument), void *argument);

/* Returns the displacement after the last dirty byte, or 0 if nothing is dirty. The result may
   be larger if bytes have been stored meanwhile. */
int64_t mpiio_cache_end(struct mpiio_cache *cache);

/* Return size and seek results of the file including dirty bytes. The size reaches the end of
   the last dirty byte. While any bytes are dirty, holes are unknown. */
int64_t mpiio_cache_size(struct mpiio_source *source);
int64_t mpiio_cache_seek(struct mpiio_source *source, int64_t displacement, int whence);

/* Returns true if nothing is dirty. */
bool mpiio_cache_is_empty(struct mpiio_cache *cache);

/*
 * Returns the negative errno with which storing data of a slice failed, while that data is still
 * dirty; else 0. Dirty data is retried and never dropped. So an error disappears once a later flush
 * succeeds.
 */
int mpiio_cache_error(struct mpiio_cache *cache, uint64_t id);

/* Switches to write-through: from now on writes go to the file, including those that wait for
   room. Dirty bytes stay dirty until mpiio_cache_store_all stores them, or a write to the file
   replaces them. Nobody else may store frozen bytes after this call. */
void mpiio_cache_write_through(struct mpiio_cache *cache);

/* Ends all current and future waiting, for room and for flushes. */
void mpiio_cache_stop(struct mpiio_cache *cache);

struct mpiio_cache_stats {
    int64_t dirty_bytes;  /* number of dirty bytes */
    int64_t dirty_blocks; /* blocks that have them; a block may count in both generations */
    int64_t dirty_memory; /* memory of dirty data in bytes, bounded by dirty_max */
    uint64_t waits;       /* number of times that a writer waited for room */
    uint64_t flushes;     /* number of resolved generations */
    uint64_t stored;      /* number of blocks stored */
    uint64_t failed;      /* number of times that storing a block failed */
};

/* Counts the bits of all masks, which takes about 10 us per block. */
void mpiio_cache_get_stats(struct mpiio_cache *cache, struct mpiio_cache_stats *stats);

/* Reading the file with dirty bytes overlaid. */

/*
 * Reads like mpiio_read_runs, and overlays the frozen and then the active bytes on the file's. The
 * range must lie below the end that the caller knows (mpiio_store_size). Bytes after the file's own
 * end that nobody wrote are zeros, so the read never stops at the end of the file. Bytes written
 * before the call are always seen, even if a generation is frozen or resolved meanwhile.
 */
void mpiio_cache_read(struct mpiio_source *source, struct mpiio_transfer *transfer);

/* Writing to the active generation. */

/*
 * Writes a transfer's bytes to the active generation, like mpiio_write_runs. After
 * mpiio_cache_write_through it is mpiio_write_runs. Errors are -ENOMEM and, by transfer->put:
 *
 * WAIT waits while dirty_max or more is used. -EIO if it would have to wait after mpiio_cache_stop.
 *
 * NOW never waits for room, because the caller holds locks of the file that a flush may have to
 * wait for. -ENOBUFS without room; the caller then releases its locks and calls mpiio_cache_await
 * before it retries.
 *
 * MERGED writes a value that the caller has read and changed in part, while others, also on other
 * nodes, may change other parts of it. The caller has held a lock on the value since before the
 * read. The value goes to the file at once: a later store from the active generation would
 * overwrite the changes of others. There is one exception: if some bytes of the value are dirty in
 * a block, all its bytes in that block go to the active generation. Otherwise the dirty bytes would
 * be stored over them. Never waits for room. -EINPROGRESS if bytes of the value are frozen. Then
 * nothing is written; the caller releases its locks, calls mpiio_cache_await, and reads again.
 */
void mpiio_cache_write(struct mpiio_source *source, struct mpiio_transfer *transfer);

/*
 * Waits after an error of mpiio_cache_write: for room after -ENOBUFS, or until the frozen
 * generation is resolved after -EINPROGRESS. The caller must hold no lock of the file. Returns 0 to
 * retry, or -EIO after mpiio_cache_stop. Returns any other error unchanged, at once.
 */
int mpiio_cache_await(struct mpiio_source *source, int error);

/* Freezing a generation, storing it, and resolving the outcome. */

/*
 * Makes the active generation the frozen one, atomically. Lists its blocks, ascending, in
 * mpiio_slots_blocks, and sets *count to their number (0 if nothing was dirty). With may_wait, a
 * block may wait if no part of it was frozen before. mpiio_cache_resolve must follow. Returns 0, or
 * -EBUSY if a generation is frozen already; the list then stays.
 */
int mpiio_cache_freeze(struct mpiio_cache *cache, bool may_wait, size_t *count);

/*
 * Finishes the frozen generation. errors has, for each of its blocks in order, 0 if the whole block
 * is stored in the file, or a negative errno; NULL: all are stored. Blocks that are not stored stay
 * dirty, and the slices that have data in them get the error (mpiio_cache_error). -EAGAIN is no
 * error: the block was postponed.
 */
void mpiio_cache_resolve(struct mpiio_cache *cache, const int *errors);

/*
 * Stores all dirty data by this process alone: freezes, stores and resolves. Starts with a
 * generation that is frozen already, so no other process may be storing it or resolve it later.
 * Blocks that fail stay dirty. Returns 0 or the negative errno of the first block that failed. Does
 * not sync the file. Calls exclude each other.
 */
int mpiio_cache_store_all(struct mpiio_cache *cache);

/* Frees the memory that is kept for reuse. Call it when nobody has written for a while. */
void mpiio_cache_trim(struct mpiio_cache *cache);

#endif
