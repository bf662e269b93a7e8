/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_CACHE_H
#define MPIIO_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "slots.h"
#include "core/file/file.h"

/*
 * Write-back: what was written and is not stored yet, in blocks of the file with exact masks
 * (slots.h). Slices of a store that has one write to it instead of the file, and read the file
 * with its bytes laid over (store_layers.h).
 *
 * There are two generations. Writers add to the active one. A flush freezes it: it becomes the
 * frozen one, which nobody changes while it is being stored, and an empty one becomes active. When
 * the outcome is known the frozen one is resolved: stored blocks are dropped, the others are laid
 * under the active ones, to be tried again with the next freeze. Who stores a frozen generation is
 * the owner's affair: the engines together, by the slots, or mpiio_cache_store_all alone.
 *
 * Unless said otherwise functions are local and thread-safe, and hold no lock during I/O. For who
 * has no cache, a NULL is an empty one: to mpiio_cache_is_empty, _error, _write_through, _stop,
 * _get_stats, _store_all and _free.
 */
struct mpiio_cache;

/*
 * Makes an empty cache over file, which is open for writing and outlives it, with the operations of
 * its first member, a struct mpiio_source: those below and in cache_read.h and cache_write.h.
 * dirty_max > 0 bounds
 * the memory that dirty data takes, in bytes, both generations together and in pages of 4 KiB of
 * data and of mask; it may be exceeded by a block a thread, and memory kept for reuse comes to it,
 * half of it at most. 0 or a negative errno. (store_layers.h puts it under a store.)
 */
int mpiio_cache_new(struct mpiio_file *file, const struct mpiio_source_ops *ops, int64_t dirty_max,
                    struct mpiio_cache **cache);

/* Frees it, and the dirty data that is left. No other thread may use it. */
void mpiio_cache_free(struct mpiio_cache *cache);

/* The slots, borrowed: for the engine, by its descriptor, and for whoever stores a generation. */
const struct mpiio_slots *mpiio_cache_slots(const struct mpiio_cache *cache);

/*
 * full(argument) is called when a flush is wanted because half of dirty_max is used, or all of it,
 * and none is under way: once until the next freeze; once a second where the last flush failed. It
 * is called by a thread that writes, which may hold a lock of slice.h, and must only pass the
 * message on. To be set before the slices are used.
 */
void mpiio_cache_on_full(struct mpiio_cache *cache, void (*full)(void *argument), void *argument);

/*
 * wait(argument, true) is called by a writer that begins to wait for room or a flush, and with
 * false when it does not wait any more. To be set before the slices are used.
 */
void mpiio_cache_on_wait(struct mpiio_cache *cache, void (*wait)(void *argument, bool waits),
                         void *argument);

/* The highest displacement of a dirty byte plus one, or more, where it is stored; 0: none. */
int64_t mpiio_cache_end(struct mpiio_cache *cache);

/* The file's size, but to the end of what is dirty. No bytes are known to be a hole while any are
   dirty. */
int64_t mpiio_cache_size(struct mpiio_source *source);
int64_t mpiio_cache_seek(struct mpiio_source *source, int64_t displacement, int whence);

/* True where nothing is dirty. */
bool mpiio_cache_is_empty(struct mpiio_cache *cache);

/*
 * The generation that all which was put before the call is in, to be waited for. Once it is
 * resolved, everything is stored or has an error.
 */
uint64_t mpiio_cache_generation(struct mpiio_cache *cache);

/*
 * Waits until that generation is resolved: 0; -ETIMEDOUT when mpiio_clock has reached end first
 * (INT64_MAX: there is none); -ECANCELED after mpiio_cache_stop. It asks for no flush.
 */
int mpiio_cache_wait(struct mpiio_cache *cache, uint64_t generation, int64_t end);

/*
 * The negative errno of what is unsaved, though it was tried, of the slice with that id; else 0.
 * Nothing is dropped, so an error that was over before anybody asked is none.
 */
int mpiio_cache_error(struct mpiio_cache *cache, uint64_t id);

/*
 * From now on writes go to the file, also those that wait for room. What is dirty stays so until
 * it is stored by mpiio_cache_store_all, and bytes of it that are written again are forgotten. What
 * is frozen must not be stored by anybody else any more.
 */
void mpiio_cache_write_through(struct mpiio_cache *cache);

/* From now on nobody waits: neither for room nor for a generation. */
void mpiio_cache_stop(struct mpiio_cache *cache);

struct mpiio_cache_stats {
    int64_t dirty_bytes;  /* that wait to be stored, now */
    int64_t dirty_blocks; /* that hold them; a block may count in both generations */
    int64_t dirty_memory; /* in bytes, what dirty_max bounds */
    uint64_t waits;       /* times that a writer waited for room */
    uint64_t flushes;     /* generations that were resolved */
    uint64_t stored;      /* blocks that were stored */
    uint64_t failed;      /* times that a block was not */
};

/* The masks are counted: it takes some 10 us a block. */
void mpiio_cache_get_stats(struct mpiio_cache *cache, struct mpiio_cache_stats *stats);

#endif
