/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_HEAP_H
#define MPIIO_HEAP_H

#include <stddef.h>
#include <stdint.h>

struct mpiio_heap_item {
    uint64_t key;
    void *item; /* the user's */
};

/* Items of which the one with the least key is at hand. Zeros: there are none. Not thread-safe. */
struct mpiio_heap {
    struct mpiio_heap_item *items; /* owned; the least first, each less than the two below it */
    size_t count, room;
};

/* The items stay the user's. */
void mpiio_heap_free(struct mpiio_heap *heap);

/* Has room for so many more, which mpiio_heap_put then adds without fail. 0 or -ENOMEM. */
int mpiio_heap_reserve(struct mpiio_heap *heap, size_t more);
void mpiio_heap_put(struct mpiio_heap *heap, uint64_t key, void *item);

/* The item with the least key; NULL: there is none. */
void *mpiio_heap_least(const struct mpiio_heap *heap);

/* Takes that one out; there is one. */
void mpiio_heap_drop(struct mpiio_heap *heap);

#endif
