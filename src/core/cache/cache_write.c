/* SPDX-License-Identifier: MIT */
#include "cache_write.h"

#include <errno.h>

#include "core/base/gather.h"
#include "core/base/guard.h"
#include "block_walk.h"
#include "core/file/write_plan.h"
#include "cache_private.h"

/* Writing to the active generation. */

/* Waiting for room. */

static bool is_full(const struct mpiio_cache *cache)
{
    return cache->memory >= cache->dirty_max || cache->free_slots == 0;
}

static bool is_past(const struct timespec *time)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec > time->tv_sec ||
           (now.tv_sec == time->tv_sec && now.tv_nsec >= time->tv_nsec);
}

/* Asks for a flush where that makes sense now. Lock: state, which is let go meanwhile. */
static bool ask(struct mpiio_cache *cache)
{
    if (cache->full == NULL || cache->asked || cache->busy ||
        (cache->failing && !is_past(&cache->retry)))
        return false;
    cache->asked = true;
    pthread_mutex_unlock(&cache->state);
    cache->full(cache->argument);
    pthread_mutex_lock(&cache->state);
    return true;
}

static void tell_wait(const struct mpiio_cache *cache, bool waits)
{
    if (cache->wait != NULL)
        cache->wait(cache->wait_argument, waits);
}

/* Returns false where there is none and nobody waits any more. */
static bool wait_for_room(struct mpiio_cache *cache)
{
    bool waits;

    tell_wait(cache, true);
    pthread_mutex_lock(&cache->state);
    cache->waits++;
    while ((waits = is_full(cache) && !cache->through) && !cache->stopped) {
        if (ask(cache))
            continue;
        if (cache->full != NULL && cache->failing && !cache->asked && !cache->busy)
            pthread_cond_timedwait(&cache->changed, &cache->state, &cache->retry);
        else
            pthread_cond_wait(&cache->changed, &cache->state);
    }
    pthread_mutex_unlock(&cache->state);
    tell_wait(cache, false);
    return !waits;
}

/* The same: until what is frozen, if anything is, has been resolved. */
static bool wait_for_flush(struct mpiio_cache *cache)
{
    uint64_t generation;
    int error;

    pthread_mutex_lock(&cache->state);
    generation = cache->number - 1;
    pthread_mutex_unlock(&cache->state);
    tell_wait(cache, true);
    error = mpiio_cache_wait(cache, generation, NULL);
    tell_wait(cache, false);
    return error == 0;
}

int mpiio_cache_await(struct mpiio_cache *cache, int error)
{
    bool done;

    if (error != -ENOBUFS && error != -EINPROGRESS)
        return error;
    done = error == -ENOBUFS ? wait_for_room(cache) : wait_for_flush(cache);
    return done ? 0 : -EIO;
}

/* Putting. */

struct put {
    struct mpiio_cache *cache;
    struct mpiio_writer *writer;
    const char *buffer;
    bool now;     /* it does not wait */
    size_t bytes; /* that were put when it stopped */
    int error;
};

static bool stop_at(struct put *put, const struct mpiio_block_walk *portion, int error)
{
    put->bytes = (size_t)(portion->part[0].memory - put->buffer);
    put->error = error;
    return false;
}

static int take_slot(struct mpiio_cache *cache)
{
    if (cache->free_slots == 0)
        return -1;
    cache->free_slots--;
    return cache->free_kept_count > 0 ? cache->free_kept[--cache->free_kept_count]
                                      : cache->free[--cache->free_count];
}

/* The active block with that number, which is made where it is missing; NULL: no slot is free. */
static struct mpiio_block *active_block(struct mpiio_cache *cache, int64_t number)
{
    struct mpiio_block *block;
    int slot;

    pthread_mutex_lock(&cache->table);
    block = mpiio_blocks_find(cache->active, number);
    if (block == NULL && (slot = take_slot(cache)) >= 0) {
        block = &cache->block[slot];
        block->number = number;
        block->tried = false;
        mpiio_blocks_add(cache->active, block);
    }
    pthread_mutex_unlock(&cache->table);
    return block;
}

/*
 * The block to put to, with the gate shared and itself locked; NULL: there is none, for a reason
 * that error gets, or because of writing through, 0.
 */
static struct mpiio_block *enter(const struct put *put, int64_t number, int *error)
{
    struct mpiio_cache *cache = put->cache;
    struct mpiio_block *block;

    *error = 0;
    for (;;) {
        pthread_rwlock_rdlock(&cache->gate);
        if (cache->through)
            break;
        block = is_full(cache) ? NULL : active_block(cache, number);
        if (block != NULL) {
            pthread_rwlock_wrlock(&block->lock);
            return block;
        }
        pthread_rwlock_unlock(&cache->gate);
        *error = put->now ? -ENOBUFS : mpiio_cache_await(cache, -ENOBUFS);
        if (*error != 0)
            return NULL;
    }
    pthread_rwlock_unlock(&cache->gate);
    return NULL;
}

static void put_work(void *argument)
{
    const struct mpiio_copy *copy = argument;
    const struct mpiio_slot *slot = &copy->slot;

    for (int i = 0; i < copy->portion->count; i++) {
        const struct mpiio_batch_part *part = &copy->portion->part[i];
        struct mpiio_mask_runs runs = mpiio_block_walk_runs(part);

        mpiio_slot_touch(slot, runs);
        mpiio_scatter(slot->data + runs.start, part->memory, runs.length, runs.count, runs.stride);
        mpiio_mask_set(slot->mask, runs);
    }
}

/* Copies to an active block, with the gate shared and the block locked, which it unlocks. */
static bool put_in(struct put *put, const struct mpiio_block_walk *portion,
                   struct mpiio_block *block)
{
    struct mpiio_cache *cache = put->cache;
    int64_t before = mpiio_cache_memory(cache, block), end = mpiio_block_walk_end(portion);
    bool done;

    mpiio_writers_add(&block->writers, put->writer);
    done = mpiio_cache_copy(cache, portion, block, put_work);
    cache->memory += mpiio_cache_memory(cache, block) - before;
    pthread_rwlock_unlock(&block->lock);
    pthread_mutex_lock(&cache->state);
    cache->active_end = end > cache->active_end ? end : cache->active_end;
    pthread_mutex_unlock(&cache->state);
    return done || stop_at(put, portion, -ENOMEM);
}

static bool put_portion(struct mpiio_block_walk *portion)
{
    struct put *put = portion->argument;
    int error;
    struct mpiio_block *block = enter(put, portion->block, &error);
    bool done;

    if (block == NULL)
        return stop_at(put, portion, error);
    done = put_in(put, portion, block);
    pthread_rwlock_unlock(&put->cache->gate);
    return done;
}

/* What lies in the blocks of bytes that were written through since. */
static void forget_work(void *argument)
{
    const struct mpiio_copy *copy = argument;

    for (int i = 0; i < copy->portion->count; i++)
        mpiio_mask_clear(copy->slot.mask, mpiio_block_walk_runs(&copy->portion->part[i]));
}

static void forget_in(struct mpiio_block_walk *portion, struct mpiio_block *block)
{
    if (block != NULL) {
        pthread_rwlock_wrlock(&block->lock);
        /* Where the mask has no memory yet and gets none, its bits are clear. */
        mpiio_cache_copy(portion->argument, portion, block, forget_work);
        pthread_rwlock_unlock(&block->lock);
    }
}

static bool forget_portion(struct mpiio_block_walk *portion)
{
    struct mpiio_cache *cache = portion->argument;
    struct mpiio_block *frozen, *active;

    pthread_rwlock_rdlock(&cache->gate);
    mpiio_cache_find(cache, portion->block, &frozen, &active);
    forget_in(portion, frozen);
    forget_in(portion, active);
    pthread_rwlock_unlock(&cache->gate);
    return true;
}

/* mpiio_write_runs: an error of the filesystem's is none that mpiio_cache_await waits for. */
static size_t put_in_file(const struct mpiio_cache *cache, const struct vs_map *map,
                          int64_t position, size_t length, const void *buffer, int *error,
                          struct mpiio_counters *done)
{
    size_t bytes = mpiio_write_runs(cache->file, map, position, length, buffer, error, done);

    if (*error == -ENOBUFS || *error == -EINPROGRESS)
        *error = -EIO;
    return bytes;
}

/* Once nothing is dirty it stays so, and nothing is to be excluded. */
static size_t put_through(struct mpiio_cache *cache, const struct vs_map *map, int64_t position,
                          size_t length, const void *buffer, int *error,
                          struct mpiio_counters *done)
{
    size_t bytes;

    if (mpiio_cache_is_empty(cache))
        return put_in_file(cache, map, position, length, buffer, error, done);
    pthread_mutex_lock(&cache->flush);
    bytes = put_in_file(cache, map, position, length, buffer, error, done);
    cache->drops++;
    mpiio_block_walk(map, position, bytes, (char *)buffer, forget_portion, cache);
    pthread_mutex_unlock(&cache->flush);
    return bytes;
}

static size_t put_all(struct put *put, const struct vs_map *map, int64_t position, size_t length,
                      uint64_t id, int *error, struct mpiio_counters *done)
{
    struct mpiio_cache *cache = put->cache;

    put->writer = mpiio_cache_writer(cache, id, true);
    *error = -ENOMEM;
    if (put->writer == NULL)
        return 0;
    put->bytes = length;
    if (!cache->through)
        mpiio_block_walk(map, position, length, (char *)put->buffer, put_portion, put);
    else
        put->bytes = 0;
    *error = put->error;
    if (put->bytes < length && put->error == 0)
        return put->bytes + put_through(cache, map, position + (int64_t)put->bytes,
                                        length - put->bytes, put->buffer + put->bytes, error, done);
    if (cache->memory >= cache->dirty_max / 2) {
        pthread_mutex_lock(&cache->state);
        ask(cache);
        pthread_mutex_unlock(&cache->state);
    }
    return put->bytes;
}

size_t mpiio_cache_write(struct mpiio_cache *cache, const struct vs_map *map, int64_t position,
                         size_t length, const void *buffer, uint64_t id, int *error,
                         struct mpiio_counters *done)
{
    struct put put = {.cache = cache, .buffer = buffer};

    return put_all(&put, map, position, length, id, error, done);
}

size_t mpiio_cache_write_now(struct mpiio_cache *cache, const struct vs_map *map, int64_t position,
                             size_t length, const void *buffer, uint64_t id, int *error,
                             struct mpiio_counters *done)
{
    struct put put = {.cache = cache, .buffer = buffer, .now = true};

    return put_all(&put, map, position, length, id, error, done);
}

/* Values that were read and changed. */

struct merged {
    struct put put;
    bool dirty, clean; /* bytes in blocks that have some of it, and that have none */
};

/* Looks for bytes of a portion in a slot. */
struct look {
    const struct mpiio_block_walk *portion;
    struct mpiio_slot slot;
    bool found;
};

static void look_work(void *argument)
{
    struct look *look = argument;

    for (int i = 0; i < look->portion->count; i++) {
        struct mpiio_batch_part part = look->portion->part[i];

        while (part.count > 0 && !look->found) {
            size_t start = mpiio_block_walk_runs(&part).start;

            look->found = mpiio_slot_has(&look->slot, start, start + (size_t)part.length);
            mpiio_batch_part_advance(&part, 1);
        }
    }
}

/* Whether bytes of a portion are in a block, if there is one: 0, 1, or -ENOMEM. The gate is held.
 */
static int is_dirty(const struct mpiio_cache *cache, const struct mpiio_block_walk *portion,
                    struct mpiio_block *block)
{
    struct look look = {.portion = portion};
    bool done;

    if (block == NULL)
        return 0;
    look.slot = mpiio_slots_get(&cache->slots, block->slot);
    pthread_rwlock_rdlock(&block->lock);
    done = mpiio_guard_call(look_work, &look, cache->slots.base, cache->slots.size);
    pthread_rwlock_unlock(&block->lock);
    return done ? look.found : -ENOMEM;
}

static bool look_at_portion(struct mpiio_block_walk *portion)
{
    struct merged *merged = portion->argument;
    struct mpiio_cache *cache = merged->put.cache;
    struct mpiio_block *frozen, *active;
    int is_frozen, is_active;

    mpiio_cache_find(cache, portion->block, &frozen, &active);
    is_frozen = is_dirty(cache, portion, frozen);
    is_active = is_dirty(cache, portion, active);
    if (is_frozen > 0)
        merged->put.error = -EINPROGRESS;
    else if (is_frozen < 0 || is_active < 0)
        merged->put.error = -ENOMEM;
    merged->dirty |= is_active > 0;
    merged->clean |= is_active == 0;
    return merged->put.error == 0;
}

static bool put_dirty_portion(struct mpiio_block_walk *portion)
{
    struct merged *merged = portion->argument;
    struct mpiio_block *frozen, *active;

    mpiio_cache_find(merged->put.cache, portion->block, &frozen, &active);
    if (is_dirty(merged->put.cache, portion, active) <= 0)
        return true;
    pthread_rwlock_wrlock(&active->lock);
    return put_in(&merged->put, portion, active);
}

/*
 * A value that lies in two blocks, one of which has none of it, goes to the file as a whole, too:
 * the bytes that are also dirty will be stored once more.
 */
size_t mpiio_cache_write_merged(struct mpiio_cache *cache, const struct vs_map *map,
                                int64_t position, size_t length, const void *buffer, uint64_t id,
                                int *error, struct mpiio_counters *done)
{
    struct merged merged = {.put = {.cache = cache, .buffer = buffer}};
    bool through;

    merged.put.writer = mpiio_cache_writer(cache, id, true);
    *error = -ENOMEM;
    if (merged.put.writer == NULL)
        return 0;
    pthread_rwlock_rdlock(&cache->gate);
    through = cache->through;
    if (!through)
        mpiio_block_walk(map, position, length, (char *)buffer, look_at_portion, &merged);
    if (merged.dirty && merged.put.error == 0)
        mpiio_block_walk(map, position, length, (char *)buffer, put_dirty_portion, &merged);
    pthread_rwlock_unlock(&cache->gate);
    *error = merged.put.error;
    if (*error != 0)
        return 0;
    if (through)
        return put_through(cache, map, position, length, buffer, error, done);
    return merged.clean ? put_in_file(cache, map, position, length, buffer, error, done) : length;
}
