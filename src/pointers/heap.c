/* SPDX-License-Identifier: MIT */
#include "heap.h"

#include <errno.h>
#include <stdlib.h>

void mpiio_heap_free(struct mpiio_heap *heap)
{
    free(heap->items);
    *heap = (struct mpiio_heap){0};
}

int mpiio_heap_reserve(struct mpiio_heap *heap, size_t more)
{
    size_t room = heap->room > 0 ? heap->room : 8;
    struct mpiio_heap_item *grown;

    if (heap->count + more <= heap->room)
        return 0;
    while (room < heap->count + more)
        room *= 2;
    grown = reallocarray(heap->items, room, sizeof(*grown));
    if (grown == NULL)
        return -ENOMEM;
    heap->items = grown;
    heap->room = room;
    return 0;
}

void mpiio_heap_put(struct mpiio_heap *heap, uint64_t key, void *item)
{
    size_t at = heap->count++;

    for (; at > 0 && heap->items[(at - 1) / 2].key > key; at = (at - 1) / 2)
        heap->items[at] = heap->items[(at - 1) / 2];
    heap->items[at] = (struct mpiio_heap_item){key, item};
}

void *mpiio_heap_least(const struct mpiio_heap *heap)
{
    return heap->count > 0 ? heap->items[0].item : NULL;
}

void mpiio_heap_drop(struct mpiio_heap *heap)
{
    struct mpiio_heap_item last = heap->items[--heap->count];
    size_t at = 0, below;

    while ((below = 2 * at + 1) < heap->count) {
        if (below + 1 < heap->count && heap->items[below + 1].key < heap->items[below].key)
            below++;
        if (heap->items[below].key >= last.key)
            break;
        heap->items[at] = heap->items[below];
        at = below;
    }
    heap->items[at] = last;
}
