/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_CACHE_PRIVATE_H
#define MPIIO_CACHE_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "block_walk.h"
#include "cache.h"
#include "core/base/guard.h"
#include "core/file/file.h"

/* A slice whose data a dirty block holds, by the id that its user gave it. If data could not be
   stored, exactly these slices get the error. For the sources of cache_private.h only, whose locks
   guard all of it. */
struct mpiio_writer {
    uint64_t id;
    int unsaved; /* negative errno: why some of its data was not stored the last time; 0: all was */
    int round;   /* for mpiio_cache_resolve: what came of the generation under way */
};

/* All writers there ever were: a tree, NULL where empty. */
typedef void *mpiio_writer_tree;

/* The writer with that id, made where it is missing; NULL: no memory. */
struct mpiio_writer *mpiio_writer_get(mpiio_writer_tree *tree, uint64_t id);

/* The same, or NULL where it is missing. */
struct mpiio_writer *mpiio_writer_find(mpiio_writer_tree *tree, uint64_t id);

void mpiio_writers_free_all(mpiio_writer_tree *tree);

/* The writers of a block, ascending by address. Zeros: none. */
struct mpiio_writers {
    struct mpiio_writer **writer;
    size_t count;
    size_t room;
    bool everyone; /* there was no memory to tell them apart */
};

void mpiio_writers_add(struct mpiio_writers *writers, struct mpiio_writer *writer);
void mpiio_writers_clear(struct mpiio_writers *writers);

/* Dirty blocks, and the set of them that is a generation. For the sources of cache_private.h only,
 * whose locks these are.
 */
struct mpiio_block {
    int64_t number; /* it begins at displacement number * MPIIO_BLOCK_SIZE */
    int slot;
    bool kept;                /* the slot's memory was kept for reuse; lock: table */
    bool tried;               /* it was frozen before, and stayed dirty; lock: the gate */
    int error;                /* what came of storing it; while it is frozen, its storer's */
    struct mpiio_block *next; /* in a bucket; lock: table */
    pthread_rwlock_t
        lock; /* of the slot's contents and of writers; not needed to read a frozen one */
    struct mpiio_writers writers;
};

struct mpiio_blocks {
    size_t buckets;              /* a power of two */
    struct mpiio_block **bucket; /* by the number's hash */
    struct mpiio_block **list;   /* all of them */
    size_t count;
};

/* An empty set that has room for so many blocks. 0 or -ENOMEM. */
int mpiio_blocks_init(struct mpiio_blocks *blocks, size_t room);
void mpiio_blocks_destroy(struct mpiio_blocks *blocks);

/* The block with that number, or NULL. */
struct mpiio_block *mpiio_blocks_find(const struct mpiio_blocks *blocks, int64_t number);

/* Adds a block whose number is not there yet. */
void mpiio_blocks_add(struct mpiio_blocks *blocks, struct mpiio_block *block);

/* Puts the list in the order of the file. */
void mpiio_blocks_sort(struct mpiio_blocks *blocks);

/* Empties the set; the blocks are untouched but for their next. */
void mpiio_blocks_clear(struct mpiio_blocks *blocks);

/* The internals of write-back: for cache.c, cache_write.c (writing), cache_read.c (reading) and
   cache_flush.c only. */

/*
 * Locks are taken in this order, each but the first two for some memory accesses or copies only:
 *
 *   flush   who stores alone, and who writes through while anything is dirty
 *   gate    shared by who copies into or out of blocks; exclusive to freeze and to resolve
 *   table   which blocks there are
 *   lock    of a block (cache_private.h)
 *   state   numbers and waiting
 *
 * table is never held together with another one that comes later.
 */
struct mpiio_cache {
    struct mpiio_source source; /* the first member */
    struct mpiio_file *file;    /* the next layer */
    int64_t dirty_max;
    struct mpiio_slots slots;
    void (*full)(void *argument);
    void *argument;
    void (*wait)(void *argument, bool waits);
    void *wait_argument;
    struct mpiio_block *block; /* one a slot */

    pthread_mutex_t flush;
    pthread_rwlock_t gate;
    pthread_mutex_t table;
    struct mpiio_blocks sets[2];
    struct mpiio_blocks *active; /* which set: gate; its contents: table or the gate exclusively */
    struct mpiio_blocks *frozen; /* the same */
    struct mpiio_frozen *list;   /* what freezing tells of them: one a slot */
    int *free;                   /* slots; lock: table */
    int *free_kept;              /* the same, with their memory; lock: table */
    int free_kept_count;         /* lock: table */
    int kept;                    /* slots whose memory is kept, free or not; lock: table */
    mpiio_writer_tree writers;   /* lock: table */
    atomic_int free_count;       /* of free; changed under table */
    atomic_int free_slots;       /* of both; changed under table */
    atomic_int_fast64_t memory;  /* that dirty data takes */
    atomic_bool through;         /* set under the gate exclusively */
    atomic_bool stopped;
    atomic_uint_fast64_t drops; /* times that bytes left the blocks, as they are in the file now */

    pthread_mutex_t state;
    pthread_cond_t changed; /* with state: room, the generation, through or stopped */
    uint64_t number;        /* of the active generation; lock: state */
    bool busy;              /* there is a frozen one, whose number is one less; lock: state */
    bool asked;             /* full was called since the last freeze; lock: state */
    bool failing;           /* the last flush failed; lock: state */
    int64_t retry;          /* when to ask again then, by mpiio_clock; lock: state */
    int64_t active_end;     /* lock: state */
    int64_t frozen_end;     /* lock: state */
    uint64_t waits, stored, failed; /* lock: state */
};

/*
 * Calls work with a struct mpiio_copy, to copy a portion to or from the slot of block. A slot's
 * memory is the kernel's to give, which may refuse: the SIGBUS must not end a process that holds
 * other dirty data. Returns false then.
 */
struct mpiio_copy {
    const struct mpiio_block_walk *portion;
    struct mpiio_slot slot;
};

static inline bool mpiio_cache_copy(const struct mpiio_cache *cache,
                                    const struct mpiio_block_walk *portion,
                                    const struct mpiio_block *block, void (*work)(void *argument))
{
    struct mpiio_copy copy = {.portion = portion,
                              .slot = mpiio_slots_get(&cache->slots, block->slot)};

    return mpiio_guard_call(work, &copy, cache->slots.base, cache->slots.size);
}

/* The memory that a block takes. Its lock is held, or nobody writes. */
int64_t mpiio_cache_memory(const struct mpiio_cache *cache, const struct mpiio_block *block);

/* The blocks with that number in both generations, or NULL. The gate is held. */
void mpiio_cache_find(struct mpiio_cache *cache, int64_t number, struct mpiio_block **frozen,
                      struct mpiio_block **active);

/* The writer with that id; where it is missing, a new one with make, else NULL. */
struct mpiio_writer *mpiio_cache_writer(struct mpiio_cache *cache, uint64_t id, bool make);

#endif
