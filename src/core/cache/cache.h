/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_CACHE_H
#define MPIIO_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "core/file/file.h"
#include "slots.h"

/*
 * Write-back: written bytes that are not stored yet, in blocks of the file with exact masks
 * (slots.h). If a store has a cache, its slices write to it instead of the file. They lay its bytes
 * over those that they read from the file (store_layers.h).
 *
 * There are two generations. Writers add to the active one. A flush freezes it: it becomes the
 * frozen one, which nobody changes while it is being stored, and an empty one becomes active. When
 * the outcome is known, the frozen one is resolved. Stored blocks are dropped. The others are laid
 * under the active ones, and the next freeze retries them. The owner has a frozen generation
 * stored: by the engines together, which use the slots, or alone by mpiio_cache_store_all.
 *
 * Unless stated otherwise, functions are local and thread-safe, and hold no lock during I/O. A NULL
 * is an empty cache to mpiio_cache_is_empty, _error, _write_through, _stop, _get_stats, _store_all
 * and _free.
 */
struct mpiio_cache;

/*
 * Makes an empty cache over file, which is open for writing and outlives it. Its first member is a
 * struct mpiio_source with the operations ops, which are declared below.
 *
 * dirty_max > 0 bounds the memory of dirty data, in bytes: pages of 4 KiB of data and of masks, in
 * both generations together. Each thread may exceed it by a block. Memory kept for reuse adds up to
 * half of it. Returns 0 or a negative errno. (store_layers.h puts the cache under a store.)
 */
int mpiio_cache_new(struct mpiio_file *file, const struct mpiio_source_ops *ops, int64_t dirty_max,
                    struct mpiio_cache **cache);

/* Frees the cache, and the dirty data that is left. No other thread may use it. */
void mpiio_cache_free(struct mpiio_cache *cache);

/* Returns the slots, borrowed: for the engine, by their descriptor, or to store a generation. */
const struct mpiio_slots *mpiio_cache_slots(const struct mpiio_cache *cache);

/*
 * Sets a function that a writing thread calls as full(argument) when half of dirty_max or all of it
 * is used, and no flush is under way. The call comes once until the next freeze, or once a second
 * if the last flush failed. The thread may hold a lock of slice.h, so full must only pass the
 * message on. To be set before the slices are used.
 */
void mpiio_cache_on_full(struct mpiio_cache *cache, void (*full)(void *argument), void *argument);

/*
 * Sets a function that a writer calls as wait(argument, true) before it waits for room or a flush,
 * and with false after that. To be set before the slices are used.
 */
void mpiio_cache_on_wait(struct mpiio_cache *cache, void (*wait)(void *argument, bool waits),
                         void *argument);

/* The highest displacement of a dirty byte plus one, or more, where it is stored; 0: none. */
int64_t mpiio_cache_end(struct mpiio_cache *cache);

/* Size and seek of the file with dirty bytes. The size reaches the end of the last dirty byte.
   While any bytes are dirty, no bytes are known to be a hole. */
int64_t mpiio_cache_size(struct mpiio_source *source);
int64_t mpiio_cache_seek(struct mpiio_source *source, int64_t displacement, int whence);

/* Returns true if nothing is dirty. */
bool mpiio_cache_is_empty(struct mpiio_cache *cache);

/*
 * Returns the generation to wait for: it, or an earlier one, has all bytes put before the call.
 * Once it is resolved, each of these bytes is stored or has an error.
 */
uint64_t mpiio_cache_generation(struct mpiio_cache *cache);

/*
 * Waits until that generation is resolved, without asking for a flush. Returns 0; -ETIMEDOUT if
 * mpiio_clock reaches end first (INT64_MAX: never); -ECANCELED after mpiio_cache_stop.
 */
int mpiio_cache_wait(struct mpiio_cache *cache, uint64_t generation, int64_t end);

/*
 * The negative errno of what is unsaved, though it was tried, of the slice with that id; else 0.
 * Nothing is dropped, so an error that was over before anybody asked is none.
 */
int mpiio_cache_error(struct mpiio_cache *cache, uint64_t id);

/* From now on writes go to the file, including those that wait for room. Dirty bytes stay dirty
   until mpiio_cache_store_all stores them; bytes that are written again meanwhile are forgotten.
   Nobody may store frozen bytes after this call. */
void mpiio_cache_write_through(struct mpiio_cache *cache);

/* From now on nobody waits: neither for room nor for a generation. */
void mpiio_cache_stop(struct mpiio_cache *cache);

struct mpiio_cache_stats {
    int64_t dirty_bytes;  /* that are dirty now */
    int64_t dirty_blocks; /* that hold them; a block may count in both generations */
    int64_t dirty_memory; /* in bytes, what dirty_max bounds */
    uint64_t waits;       /* times that a writer waited for room */
    uint64_t flushes;     /* generations that were resolved */
    uint64_t stored;      /* blocks that were stored */
    uint64_t failed;      /* times that a block was not */
};

/* The masks are counted: it takes some 10 us a block. */
void mpiio_cache_get_stats(struct mpiio_cache *cache, struct mpiio_cache_stats *stats);

/* Reading the file with what is dirty laid over. */

/*
 * Reads as mpiio_read_runs does, and lays the frozen and the active bytes over those of the file.
 * The range must lie below the end that the caller knows (mpiio_store_size). Bytes behind the
 * file's own end that nobody wrote are zeros, so the read never stops at the end of the file. A
 * byte that was put before the call is seen, whatever is frozen and resolved meanwhile.
 */
void mpiio_cache_read(struct mpiio_source *source, struct mpiio_transfer *transfer);

/* Writing to the active generation. */

/*
 * Copies a transfer's bytes to the active generation, like mpiio_write_runs. After
 * mpiio_cache_write_through it is mpiio_write_runs. Errors are -ENOMEM and, by transfer->put:
 *
 * WAIT waits while dirty_max or more is used. -EIO if it would have to wait after mpiio_cache_stop.
 *
 * NOW never waits for room. The caller holds locks of the file, which a flush may have to wait for.
 * -ENOBUFS without room; the caller releases its locks and calls mpiio_cache_await before it
 * retries.
 *
 * MERGED is for a value that was read and changed in part, while others, also on other nodes, may
 * change other parts of it. The caller has locked it against them since before it read the value.
 * The value goes to the file at once: from the active generation it would be stored over what they
 * write until then. But in a block where some of its bytes are dirty, all of them go to the active
 * generation: the dirty ones would be stored over them. Never waits for room. -EINPROGRESS if bytes
 * of the value are frozen. Nothing is put then; the caller releases its locks, calls
 * mpiio_cache_await, and reads again.
 */
void mpiio_cache_write(struct mpiio_source *source, struct mpiio_transfer *transfer);

/*
 * Waits after such an error: for room after -ENOBUFS, or until the frozen generation is resolved
 * after -EINPROGRESS. The caller holds no lock of the file. Returns 0 to retry; -EIO after
 * mpiio_cache_stop; any other error as it is, at once.
 */
int mpiio_cache_await(struct mpiio_source *source, int error);

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
 * Finishes the frozen generation. errors has, for each of its blocks in their order, 0 if all of it
 * is stored in the file, or a negative errno; NULL: all are stored. Blocks that are not stored stay
 * dirty, and the slices that have data in them get the error (mpiio_cache_error), except for
 * -EAGAIN, which means that the block was not tried.
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
