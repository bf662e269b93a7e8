/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_HEAP_H
#define MPIIO_HEAP_H

#include <stddef.h>
#include <stdint.h>

struct mpiio_heap_item {
    uint64_t key;
    void *item; /* owned by the caller */
};

/* A binary min-heap. All zeros is an empty heap. Not thread-safe. */
struct mpiio_heap {
    struct mpiio_heap_item *items; /* owned; no key is greater than those of its two children */
    size_t count, room;
};

/* Frees the heap, but not the items. */
void mpiio_heap_free(struct mpiio_heap *heap);

/* Makes room for more items, so that as many calls of mpiio_heap_put cannot fail. Returns 0 or
   -ENOMEM. */
int mpiio_heap_reserve(struct mpiio_heap *heap, size_t more);

/* Adds an item. The heap must have room for it. */
void mpiio_heap_put(struct mpiio_heap *heap, uint64_t key, void *item);

/* Returns the item with the least key, or NULL if the heap is empty. */
void *mpiio_heap_least(const struct mpiio_heap *heap);

/* Removes the item with the least key. The heap must not be empty. */
void mpiio_heap_drop(struct mpiio_heap *heap);

#endif
