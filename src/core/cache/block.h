/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_BLOCK_H
#define MPIIO_BLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "writers.h"

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

#endif
