/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_CACHE_PRIVATE_H
#define MPIIO_CACHE_PRIVATE_H

#include "block_walk.h"
#include "cache.h"
#include "core/base/guard.h"

/* The internals of write-back, for cache.c, cache_write.c (writing), cache_read.c (reading) and
   cache_flush.c only. The locks of struct mpiio_cache guard all members. */

/* A slice that has data in a dirty block, by the id that its user gave it. If data could not be
   stored, exactly these slices get the error. */
struct mpiio_writer {
    uint64_t id;
    int unsaved; /* negative errno: why some of its data was not stored last time; 0: all was */
    int round;   /* for mpiio_cache_resolve: the outcome of the current generation; else 0 */
};

/* All writers so far: a tree, NULL if empty. */
typedef void *mpiio_writer_tree;

/* Returns the writer with that id, and creates it if necessary. NULL: memory is exhausted. */
struct mpiio_writer *mpiio_writer_get(mpiio_writer_tree *tree, uint64_t id);

/* The writers of a block, ascending by address. Zeros: none. */
struct mpiio_writers {
    struct mpiio_writer **writer;
    size_t count;
    size_t room;
    bool everyone; /* some writers are missing because memory was exhausted */
};

void mpiio_writers_add(struct mpiio_writers *writers, struct mpiio_writer *writer);
void mpiio_writers_clear(struct mpiio_writers *writers);

/* A dirty block. A generation is a set of them. */
struct mpiio_block {
    int64_t number; /* the block begins at displacement number * MPIIO_BLOCK_SIZE */
    int slot;
    bool kept;  /* the slot's memory is kept for reuse; guarded by table */
    bool tried; /* it was frozen before, and stayed dirty; guarded by gate */
    /* the outcome of storing it; owned by the storing thread while frozen */
    int error;
    struct mpiio_block *next; /* in a bucket, or a list of free ones; guarded by table */
    /* guards the slot's contents and writers; not needed to read a frozen one */
    pthread_rwlock_t lock;
    struct mpiio_writers writers;
};

struct mpiio_blocks {
    size_t buckets;              /* a power of two */
    struct mpiio_block **bucket; /* by the number's hash */
    struct mpiio_block **list;   /* all of them */
    size_t count;
};

/* Returns the block with that number, or NULL. */
struct mpiio_block *mpiio_blocks_find(const struct mpiio_blocks *blocks, int64_t number);

/* Adds a block whose number is not in the set. */
void mpiio_blocks_add(struct mpiio_blocks *blocks, struct mpiio_block *block);

/* Empties the set. Of the blocks, changes only next. */
void mpiio_blocks_clear(struct mpiio_blocks *blocks);

/*
 * Locks are taken in this order. All but the first two are held for memory accesses or copies only:
 *
 *   flush   held while storing alone, and while writing through as long as anything is dirty
 *   gate    shared: copying into or out of blocks; exclusive: freezing and resolving
 *   table   the sets of blocks
 *   lock    of a block (struct mpiio_block)
 *   state   numbers and waiting
 *
 * table is never held together with a lock that comes later.
 */
struct mpiio_cache {
    struct mpiio_source source; /* the first member */
    struct mpiio_file *file;    /* the next layer */
    int64_t dirty_max;
    struct mpiio_slots slots;
    void (*full)(void *argument);
    void *argument;
    struct mpiio_block *block; /* one for each slot */

    pthread_mutex_t flush;
    pthread_rwlock_t gate;
    pthread_mutex_t table;
    struct mpiio_blocks sets[2];
    /* which set: guarded by gate; its contents: by table, or the gate exclusively */
    struct mpiio_blocks *active;
    struct mpiio_blocks *frozen; /* likewise */
    struct mpiio_block *free;    /* guarded by table */
    /* those whose memory is kept for reuse; guarded by table */
    struct mpiio_block *free_kept;
    int kept; /* number of blocks whose memory is kept, free or not; guarded by table */
    mpiio_writer_tree writers;  /* guarded by table */
    atomic_int free_slots;      /* length of both lists; changed under table */
    atomic_int_fast64_t memory; /* memory of dirty data in bytes */
    atomic_bool through;        /* set under the gate exclusively */
    atomic_bool stopped;
    /* number of times that bytes left the blocks because the file has them now */
    atomic_uint_fast64_t drops;

    pthread_mutex_t state;
    pthread_cond_t changed; /* with state: room, generation, through or stopped have changed */
    uint64_t number;        /* of the active generation; guarded by state */
    bool busy;              /* a frozen generation exists, with number - 1; guarded by state */
    bool asked;             /* full was called since the last freeze; guarded by state */
    bool failing;           /* the last flush failed; guarded by state */
    /* mpiio_clock: when to request a flush again after a failure; guarded by state */
    int64_t retry;
    int64_t active_end;             /* guarded by state */
    int64_t frozen_end;             /* guarded by state */
    uint64_t waits, stored, failed; /* guarded by state */
};

/* The argument of a work function (below): a block range, and the slot that holds its bytes. */
struct mpiio_slot_access {
    const struct mpiio_block_walk *portion;
    struct mpiio_slot slot;
    bool found; /* result of look_work */
};

/*
 * Calls work(access) for the slot of block, whose lock must be held. The kernel may refuse memory
 * for the slot. The resulting SIGBUS must not end a process that has other dirty data. Returns
 * false then.
 */
static inline bool mpiio_cache_access(const struct mpiio_cache *cache,
                                      struct mpiio_slot_access *access,
                                      const struct mpiio_block *block, void (*work)(void *argument))
{
    access->slot = mpiio_slots_get(&cache->slots, block->slot);
    return mpiio_guard_call(work, access, cache->slots.base, cache->slots.size);
}

/*
 * Calls mpiio_cache_access for the frozen and then the active block of a range, also if the first
 * call returns false. Returns false if either does. Takes the gate shared and each block's lock,
 * exclusively if work changes the slots. The caller holds neither.
 */
bool mpiio_cache_access_both(struct mpiio_cache *cache, const struct mpiio_block_walk *portion,
                             bool changes, void (*work)(void *argument));

/* Returns the memory of a block in bytes. Its lock must be held, or no thread may write to it. */
int64_t mpiio_cache_memory(const struct mpiio_cache *cache, const struct mpiio_block *block);

/* Returns the blocks of that number in both generations, or NULL. With the gate held. */
void mpiio_cache_find(struct mpiio_cache *cache, int64_t number, struct mpiio_block **frozen,
                      struct mpiio_block **active);

#endif
