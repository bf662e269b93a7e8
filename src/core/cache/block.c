/* SPDX-License-Identifier: MIT */
#include "cache_private.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "viewspec/base/list.h"
#include "viewspec/base/search.h"

/* Dirty blocks and their writers. */

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

/* Adjacent numbers have adjacent buckets. Higher bits are mixed in. */
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

/* The writers of blocks. */

static int compare_writers(const void *a, const void *b)
{
    uint64_t first = ((const struct mpiio_writer *)a)->id;
    uint64_t second = ((const struct mpiio_writer *)b)->id;

    return first < second ? -1 : first > second;
}

struct mpiio_writer *mpiio_writer_find(mpiio_writer_tree *tree, uint64_t id)
{
    const struct mpiio_writer key = {.id = id};
    struct mpiio_writer **found = tfind(&key, tree, compare_writers);

    return found != NULL ? *found : NULL;
}

struct mpiio_writer *mpiio_writer_get(mpiio_writer_tree *tree, uint64_t id)
{
    struct mpiio_writer *writer = mpiio_writer_find(tree, id);

    if (writer != NULL)
        return writer;
    writer = calloc(1, sizeof(*writer));
    if (writer == NULL)
        return NULL;
    writer->id = id;
    if (tsearch(writer, tree, compare_writers) == NULL) {
        free(writer);
        return NULL;
    }
    return writer;
}

void mpiio_writers_free_all(mpiio_writer_tree *tree)
{
    tdestroy(*tree, free);
    *tree = NULL;
}

/* Returns the index of writer in the set, or the index at which to insert it. */
static size_t place_of(const struct mpiio_writers *writers, const struct mpiio_writer *writer)
{
    return (size_t)VS_FIRST(i, 0, (int64_t)writers->count, writers->writer[i] >= writer);
}

void mpiio_writers_add(struct mpiio_writers *writers, struct mpiio_writer *writer)
{
    size_t place = place_of(writers, writer);
    struct mpiio_writer **more;

    if (place < writers->count && writers->writer[place] == writer)
        return;
    more = vs_list_grow(writers->writer, writers->count, &writers->room,
                        sizeof(struct mpiio_writer *));
    if (more == NULL) {
        writers->everyone = true;
        return;
    }
    writers->writer = more;
    memmove(writers->writer + place + 1, writers->writer + place,
            (writers->count - place) * sizeof(struct mpiio_writer *));
    writers->writer[place] = writer;
    writers->count++;
}

void mpiio_writers_clear(struct mpiio_writers *writers)
{
    free(writers->writer);
    *writers = (struct mpiio_writers){0};
}
