/* SPDX-License-Identifier: MIT */
#include "cache_private.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/thread.h"
#include "core/base/process.h"
#include "viewspec/base/integer.h"
#include "viewspec/base/list.h"

/* Dirty blocks. */

static int blocks_init(struct mpiio_blocks *blocks, size_t room)
{
    *blocks = (struct mpiio_blocks){.buckets = 1};
    while (blocks->buckets < room)
        blocks->buckets *= 2;
    blocks->bucket = calloc(blocks->buckets, sizeof(struct mpiio_block *));
    blocks->list = calloc(room, sizeof(struct mpiio_block *));
    return blocks->bucket == NULL || blocks->list == NULL ? -ENOMEM : 0;
}

static void blocks_destroy(struct mpiio_blocks *blocks)
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
    return vs_compare((int64_t)((const struct mpiio_writer *)a)->id,
                      (int64_t)((const struct mpiio_writer *)b)->id);
}

static struct mpiio_writer *find_writer(mpiio_writer_tree *tree, uint64_t id)
{
    const struct mpiio_writer key = {.id = id};
    struct mpiio_writer **found = tfind(&key, tree, compare_writers);

    return found != NULL ? *found : NULL;
}

struct mpiio_writer *mpiio_writer_get(mpiio_writer_tree *tree, uint64_t id)
{
    struct mpiio_writer *writer = find_writer(tree, id);

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

void mpiio_writers_add(struct mpiio_writers *writers, struct mpiio_writer *writer)
{
    size_t place = (size_t)VS_FIRST(i, 0, (int64_t)writers->count, writers->writer[i] >= writer);

    if (place < writers->count && writers->writer[place] == writer)
        return;
    if (!VS_LIST_ROOM(writers->writer, writers->count, writers->room)) {
        writers->everyone = true;
        return;
    }
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

/* Making and freeing. */

/* The maximum number of slots, which bounds the address space. Unused slots take no memory. */
#define SLOTS_MAX 16384
#define SLOTS_MIN 64

/*
 * Returns the number of slots. The memory is a file without a name, so RLIMIT_FSIZE limits it, too.
 * One slot's size is left for the header and the table of pages.
 */
static int slots_for(int64_t dirty_max)
{
    uint64_t limit = mpiio_rlimit_file_size() / MPIIO_SLOT_SIZE;
    int64_t slots = vs_min(dirty_max / (4 * MPIIO_PAGE_SIZE), SLOTS_MAX);

    if ((uint64_t)slots >= limit)
        slots = (int64_t)limit - 1;
    return (int)vs_max(slots, SLOTS_MIN);
}

static int init_cache(struct mpiio_cache *cache)
{
    size_t slots = (size_t)cache->slots.count;

    cache->block = calloc(slots, sizeof(struct mpiio_block));
    if (cache->block == NULL || blocks_init(&cache->sets[0], slots) != 0 ||
        blocks_init(&cache->sets[1], slots) != 0)
        return -ENOMEM;
    for (size_t i = 0; i < slots; i++) {
        cache->block[i].slot = (int)i;
        cache->block[i].next = i + 1 < slots ? &cache->block[i + 1] : NULL;
        pthread_rwlock_init(&cache->block[i].lock, NULL);
    }
    cache->free = cache->block;
    cache->free_slots = (int)slots;
    cache->active = &cache->sets[0];
    cache->frozen = &cache->sets[1];
    cache->number = 1;
    mpiio_rwlock_init(&cache->gate);
    pthread_cond_init(&cache->changed, NULL);
    pthread_mutex_init(&cache->flush, NULL);
    pthread_mutex_init(&cache->table, NULL);
    pthread_mutex_init(&cache->state, NULL);
    return 0;
}

static void free_memory(struct mpiio_cache *cache)
{
    blocks_destroy(&cache->sets[0]);
    blocks_destroy(&cache->sets[1]);
    free(cache->block);
    mpiio_slots_destroy(&cache->slots);
    free(cache);
}

int mpiio_cache_new(struct mpiio_file *file, const struct mpiio_source_ops *ops, int64_t dirty_max,
                    struct mpiio_cache **cache)
{
    struct mpiio_cache *new = calloc(1, sizeof(*new));
    int error;

    if (new == NULL)
        return -ENOMEM;
    error = mpiio_slots_create(&new->slots, slots_for(dirty_max));
    if (error != 0) {
        free(new);
        return error;
    }
    new->source.ops = ops;
    new->file = file;
    new->dirty_max = dirty_max;
    error = init_cache(new);
    if (error != 0) {
        free_memory(new);
        return error;
    }
    *cache = new;
    return 0;
}

void mpiio_cache_free(struct mpiio_cache *cache)
{
    if (cache == NULL)
        return;
    for (int i = 0; i < cache->slots.count; i++) {
        mpiio_writers_clear(&cache->block[i].writers);
        pthread_rwlock_destroy(&cache->block[i].lock);
    }
    tdestroy(cache->writers, free);
    pthread_mutex_destroy(&cache->state);
    pthread_mutex_destroy(&cache->table);
    pthread_mutex_destroy(&cache->flush);
    pthread_cond_destroy(&cache->changed);
    pthread_rwlock_destroy(&cache->gate);
    free_memory(cache);
}

const struct mpiio_slots *mpiio_cache_slots(const struct mpiio_cache *cache)
{
    return &cache->slots;
}

void mpiio_cache_on_full(struct mpiio_cache *cache, void (*full)(void *argument), void *argument)
{
    cache->full = full;
    cache->argument = argument;
}

int64_t mpiio_cache_memory(const struct mpiio_cache *cache, const struct mpiio_block *block)
{
    return mpiio_slot_memory(mpiio_slots_get(&cache->slots, block->slot).pages);
}

void mpiio_cache_find(struct mpiio_cache *cache, int64_t number, struct mpiio_block **frozen,
                      struct mpiio_block **active)
{
    pthread_mutex_lock(&cache->table);
    *frozen = mpiio_blocks_find(cache->frozen, number);
    *active = mpiio_blocks_find(cache->active, number);
    pthread_mutex_unlock(&cache->table);
}

bool mpiio_cache_access_both(struct mpiio_cache *cache, const struct mpiio_block_walk *portion,
                             bool changes, void (*work)(void *argument))
{
    struct mpiio_slot_access access = {.portion = portion};
    struct mpiio_block *blocks[2];
    bool done = true;

    pthread_rwlock_rdlock(&cache->gate);
    mpiio_cache_find(cache, portion->block, &blocks[0], &blocks[1]);
    for (int i = 0; i < 2; i++) {
        if (blocks[i] == NULL)
            continue;
        if (changes)
            pthread_rwlock_wrlock(&blocks[i]->lock);
        else
            pthread_rwlock_rdlock(&blocks[i]->lock);
        done &= mpiio_cache_access(cache, &access, blocks[i], work);
        pthread_rwlock_unlock(&blocks[i]->lock);
    }
    pthread_rwlock_unlock(&cache->gate);
    return done;
}

int64_t mpiio_cache_end(struct mpiio_cache *cache)
{
    return MPIIO_LOCKED(&cache->state, vs_max(cache->active_end, cache->frozen_end));
}

/* Samples the end of dirty data first. Bytes that a flush stores in between then count in the
   file's size. */
int64_t mpiio_cache_size(struct mpiio_source *source)
{
    struct mpiio_cache *cache = (struct mpiio_cache *)source;
    int64_t end = mpiio_cache_end(cache);
    int64_t size = mpiio_file_size(cache->file);

    return size >= 0 && size < end ? end : size;
}

int64_t mpiio_cache_seek(struct mpiio_source *source, int64_t displacement, int whence)
{
    struct mpiio_cache *cache = (struct mpiio_cache *)source;
    struct mpiio_source *next = &cache->file->source;

    return mpiio_cache_is_empty(cache) ? next->ops->seek(next, displacement, whence) : -EINVAL;
}

bool mpiio_cache_is_empty(struct mpiio_cache *cache)
{
    bool empty;

    if (cache == NULL)
        return true;
    pthread_rwlock_rdlock(&cache->gate);
    empty = MPIIO_LOCKED(&cache->table, cache->active->count == 0 && cache->frozen->count == 0);
    pthread_rwlock_unlock(&cache->gate);
    return empty;
}

int mpiio_cache_error(struct mpiio_cache *cache, uint64_t id)
{
    struct mpiio_writer *writer;
    int error = 0;

    if (cache == NULL)
        return 0;
    pthread_mutex_lock(&cache->table);
    writer = find_writer(&cache->writers, id);
    if (writer != NULL)
        error = writer->unsaved;
    pthread_mutex_unlock(&cache->table);
    return error;
}

/* Sets a flag and wakes all waiting threads to check it. */
static void raise_flag(struct mpiio_cache *cache, atomic_bool *flag)
{
    pthread_rwlock_wrlock(&cache->gate);
    *flag = true;
    pthread_rwlock_unlock(&cache->gate);
    pthread_mutex_lock(&cache->state);
    pthread_cond_broadcast(&cache->changed);
    pthread_mutex_unlock(&cache->state);
}

void mpiio_cache_write_through(struct mpiio_cache *cache)
{
    if (cache != NULL)
        raise_flag(cache, &cache->through);
}

void mpiio_cache_stop(struct mpiio_cache *cache)
{
    if (cache != NULL)
        raise_flag(cache, &cache->stopped);
}

/* Counts the dirty bytes of a set. The set may get more blocks meanwhile, but loses none. */
static void count_bytes(struct mpiio_cache *cache, const struct mpiio_blocks *blocks,
                        struct mpiio_cache_stats *stats)
{
    size_t count = MPIIO_LOCKED(&cache->table, blocks->count);

    for (size_t i = 0; i < count; i++) {
        struct mpiio_block *block = blocks->list[i];
        struct mpiio_slot slot = mpiio_slots_get(&cache->slots, block->slot);

        pthread_rwlock_rdlock(&block->lock);
        stats->dirty_bytes += mpiio_slot_bytes(&slot);
        pthread_rwlock_unlock(&block->lock);
    }
    stats->dirty_blocks += (int64_t)count;
}

void mpiio_cache_get_stats(struct mpiio_cache *cache, struct mpiio_cache_stats *stats)
{
    *stats = (struct mpiio_cache_stats){0};
    if (cache == NULL)
        return;
    pthread_rwlock_rdlock(&cache->gate);
    count_bytes(cache, cache->frozen, stats);
    count_bytes(cache, cache->active, stats);
    pthread_mutex_lock(&cache->state);
    stats->waits = cache->waits;
    stats->flushes = cache->number - (cache->busy ? 2 : 1);
    stats->stored = cache->stored;
    stats->failed = cache->failed;
    stats->dirty_memory = cache->memory;
    pthread_mutex_unlock(&cache->state);
    pthread_rwlock_unlock(&cache->gate);
}
