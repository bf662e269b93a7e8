/* SPDX-License-Identifier: MIT */
#include "block.h"

#include <errno.h>
#include <stdlib.h>

int mpiio_blocks_init(struct mpiio_blocks *blocks, size_t room)
{
    *blocks = (struct mpiio_blocks){.buckets = 1};
    while (blocks->buckets < room)
        blocks->buckets *= 2;
    blocks->bucket = calloc(blocks->buckets, sizeof(struct mpiio_block *));
    blocks->list = calloc(room, sizeof(struct mpiio_block *));
    return blocks->bucket == NULL || blocks->list == NULL ? -ENOMEM : 0;
}

void mpiio_blocks_destroy(struct mpiio_blocks *blocks)
{
    free(blocks->bucket);
    free(blocks->list);
}

/* Neighbours go to neighbouring buckets, and what is far apart is mixed in. */
static struct mpiio_block **bucket_of(const struct mpiio_blocks *blocks, int64_t number)
{
    uint64_t mixed = (uint64_t)number >> 14;

    return &blocks->bucket[((uint64_t)number ^ mixed * 0x9e3779b97f4a7c15 >> 40) &
                           (blocks->buckets - 1)];
}

struct mpiio_block *mpiio_blocks_find(const struct mpiio_blocks *blocks, int64_t number)
{
    struct mpiio_block *block = *bucket_of(blocks, number);

    while (block != NULL && block->number != number)
        block = block->next;
    return block;
}

void mpiio_blocks_add(struct mpiio_blocks *blocks, struct mpiio_block *block)
{
    struct mpiio_block **bucket = bucket_of(blocks, block->number);

    block->next = *bucket;
    *bucket = block;
    blocks->list[blocks->count++] = block;
}

static int compare_blocks(const void *a, const void *b)
{
    int64_t first = (*(struct mpiio_block *const *)a)->number;
    int64_t second = (*(struct mpiio_block *const *)b)->number;

    return first < second ? -1 : first > second;
}

void mpiio_blocks_sort(struct mpiio_blocks *blocks)
{
    qsort(blocks->list, blocks->count, sizeof(struct mpiio_block *), compare_blocks);
}

void mpiio_blocks_clear(struct mpiio_blocks *blocks)
{
    for (size_t i = 0; i < blocks->count; i++) {
        *bucket_of(blocks, blocks->list[i]->number) = NULL;
        blocks->list[i]->next = NULL;
    }
    blocks->count = 0;
}
