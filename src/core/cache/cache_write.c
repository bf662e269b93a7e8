/* SPDX-License-Identifier: MIT */
#include "cache.h"

#include <errno.h>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/base/gather.h"
#include "cache_private.h"

/* Writing to the active generation. */

/* Waiting for room. */

static bool is_full(const struct mpiio_cache *cache)
{
    return cache->memory >= cache->dirty_max || cache->free_slots == 0;
}

/* Requests a flush if that is useful now. With state held, which is released during the call. */
static bool ask_flush(struct mpiio_cache *cache)
{
    assert(mpiio_is_held(&cache->state));
    if (cache->full == NULL || cache->asked || cache->busy ||
        (cache->failing && mpiio_clock() < cache->retry))
        return false;
    cache->asked = true;
    pthread_mutex_unlock(&cache->state);
    cache->full(cache->argument);
    pthread_mutex_lock(&cache->state);
    return true;
}

/* Waits for room. Returns false if there is none and waiting has ended. */
static bool wait_for_room(struct mpiio_cache *cache)
{
    bool waits;

    mpiio_file_waits(cache->file, true);
    pthread_mutex_lock(&cache->state);
    cache->waits++;
    while ((waits = is_full(cache) && !cache->through) && !cache->stopped) {
        if (ask_flush(cache))
            continue;
        mpiio_wait_until(&cache->changed, &cache->state,
                         cache->full != NULL && cache->failing && !cache->asked && !cache->busy
                             ? cache->retry
                             : INT64_MAX);
    }
    pthread_mutex_unlock(&cache->state);
    mpiio_file_waits(cache->file, false);
    return !waits;
}

/* Waits until the frozen generation, if there is one, is resolved; then another may be frozen, with
   another number. Returns false if mpiio_cache_stop has ended the wait. */
static bool wait_for_flush(struct mpiio_cache *cache)
{
    uint64_t number;
    bool waits;

    mpiio_file_waits(cache->file, true);
    pthread_mutex_lock(&cache->state);
    number = cache->number;
    while ((waits = cache->busy && cache->number == number) && !cache->stopped)
        pthread_cond_wait(&cache->changed, &cache->state);
    pthread_mutex_unlock(&cache->state);
    mpiio_file_waits(cache->file, false);
    return !waits;
}

int mpiio_cache_await(struct mpiio_source *source, int error)
{
    struct mpiio_cache *cache = (struct mpiio_cache *)source;
    bool done;

    if (error != -ENOBUFS && error != -EINPROGRESS)
        return error;
    done = error == -ENOBUFS ? wait_for_room(cache) : wait_for_flush(cache);
    return done ? 0 : -EIO;
}

/* Writing. */

struct put {
    struct mpiio_cache *cache;
    struct mpiio_writer *writer;
    struct mpiio_transfer *transfer; /* bytes: number written before it stopped */
    /* MERGED: bytes lie in blocks where some are dirty, or where none are */
    bool dirty, clean;
};

/* Returns a free block, or NULL. */
static struct mpiio_block *take_free(struct mpiio_cache *cache)
{
    struct mpiio_block **list = cache->free_kept != NULL ? &cache->free_kept : &cache->free;
    struct mpiio_block *block = *list;

    assert(mpiio_is_held(&cache->table));
    assert((block != NULL) == (cache->free_slots > 0));
    if (block != NULL) {
        *list = block->next;
        cache->free_slots--;
    }
    return block;
}

/* Returns the active block with that number, and creates it if necessary. NULL: no slot is free. */
static struct mpiio_block *active_block(struct mpiio_cache *cache, int64_t number)
{
    struct mpiio_block *block;

    assert(mpiio_is_held_any(&cache->gate));
    pthread_mutex_lock(&cache->table);
    block = mpiio_blocks_find(cache->active, number);
    if (block == NULL && (block = take_free(cache)) != NULL) {
        block->number = number;
        block->tried = false;
        mpiio_blocks_add(cache->active, block);
    }
    pthread_mutex_unlock(&cache->table);
    return block;
}

/*
 * Returns the block to write to, with the gate shared and the block locked. Returns NULL with the
 * transfer's error on failure, or without one for write-through.
 */
static struct mpiio_block *enter_gate(const struct put *put, int64_t number)
{
    struct mpiio_cache *cache = put->cache;
    int *error = &put->transfer->error;
    struct mpiio_block *block;

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
        *error = put->transfer->put == MPIIO_PUT_NOW ? -ENOBUFS
                                                     : mpiio_cache_await(&cache->source, -ENOBUFS);
        if (*error != 0)
            return NULL;
    }
    pthread_rwlock_unlock(&cache->gate);
    return NULL;
}

static void put_work(void *argument)
{
    const struct mpiio_slot_access *access = argument;
    const struct mpiio_slot *slot = &access->slot;

    for (int i = 0; i < access->portion->batches.count; i++) {
        const struct mpiio_batch_part *part = &access->portion->batches.part[i];
        struct mpiio_mask_runs runs = mpiio_block_walk_runs(part);

        mpiio_slot_touch(slot, runs);
        mpiio_scatter(slot->data + runs.start, part->memory, runs.length, runs.count, runs.stride);
        mpiio_mask_set(slot->mask, runs);
    }
}

/* Copies to an active block. Expects the gate shared and the block locked, and unlocks the
   block. */
static bool put_in(struct put *put, const struct mpiio_block_walk *portion,
                   struct mpiio_block *block)
{
    struct mpiio_cache *cache = put->cache;
    struct mpiio_slot_access access = {.portion = portion};
    int64_t before = mpiio_cache_memory(cache, block), start, end;
    bool done;

    assert(mpiio_is_held_any(&cache->gate));
    assert(mpiio_is_held_alone(&block->lock));
    mpiio_writers_add(&block->writers, put->writer);
    mpiio_batches_bounds(&portion->batches, &start, &end);
    done = mpiio_cache_access(cache, &access, block, put_work);
    cache->memory += mpiio_cache_memory(cache, block) - before;
    pthread_rwlock_unlock(&block->lock);
    pthread_mutex_lock(&cache->state);
    cache->active_end = end > cache->active_end ? end : cache->active_end;
    pthread_mutex_unlock(&cache->state);
    if (!done)
        put->transfer->error = -ENOMEM;
    return done;
}

static bool put_portion(struct mpiio_block_walk *portion)
{
    struct put *put = portion->argument;
    struct mpiio_block *block = enter_gate(put, portion->block);
    bool done;

    if (block == NULL)
        return false;
    done = put_in(put, portion, block);
    pthread_rwlock_unlock(&put->cache->gate);
    return done;
}

/* Drops dirty bytes that have since been written through. */
static void forget_work(void *argument)
{
    const struct mpiio_slot_access *access = argument;
    const struct mpiio_batches *batches = &access->portion->batches;

    for (int i = 0; i < batches->count; i++)
        mpiio_mask_clear(access->slot.mask, mpiio_block_walk_runs(&batches->part[i]));
}

static bool forget_portion(struct mpiio_block_walk *portion)
{
    /* If a mask has no memory yet, and gets none, its bits are clear. */
    mpiio_cache_access_both(portion->argument, portion, true, forget_work);
    return true;
}

/* Writes to the file. Replaces errors of the filesystem that mpiio_cache_await would wait for. */
static void put_in_file(const struct mpiio_cache *cache, struct mpiio_transfer *transfer)
{
    struct mpiio_source *next = &cache->file->source;

    next->ops->write_runs(next, transfer);
    if (transfer->error == -ENOBUFS || transfer->error == -EINPROGRESS)
        transfer->error = -EIO;
}

/* Writes through. Once nothing is dirty that stays so, and no lock is required. */
static void put_through(struct mpiio_cache *cache, struct mpiio_transfer *transfer)
{
    if (mpiio_cache_is_empty(cache)) {
        put_in_file(cache, transfer);
        return;
    }
    pthread_mutex_lock(&cache->flush);
    put_in_file(cache, transfer);
    cache->drops++;
    mpiio_block_walk(transfer, transfer->bytes, forget_portion, cache);
    pthread_mutex_unlock(&cache->flush);
}

static void put_all(struct put *put)
{
    struct mpiio_cache *cache = put->cache;
    struct mpiio_transfer *transfer = put->transfer;

    if (!cache->through)
        transfer->bytes = mpiio_block_walk(transfer, transfer->length, put_portion, put);
    if (transfer->bytes < transfer->length && transfer->error == 0) {
        struct mpiio_transfer rest = *transfer;

        mpiio_transfer_pass(&rest, transfer->bytes);
        put_through(cache, &rest);
        transfer->bytes += rest.bytes;
        transfer->error = rest.error;
    } else if (cache->memory >= cache->dirty_max / 2) {
        pthread_mutex_lock(&cache->state);
        ask_flush(cache);
        pthread_mutex_unlock(&cache->state);
    }
}

/* Values that were read and changed. */

/* Searches a slot for bytes of a block range. */
static void look_work(void *argument)
{
    struct mpiio_slot_access *look = argument;

    for (int i = 0; i < look->portion->batches.count; i++) {
        struct mpiio_batch_part part = look->portion->batches.part[i];

        while (part.count > 0 && !look->found) {
            size_t start = mpiio_block_walk_runs(&part).start;
            struct mpiio_mask_run run;

            look->found =
                mpiio_slot_next_run(&look->slot, start, start + (size_t)part.length, &run);
            mpiio_batch_part_advance(&part, 1);
        }
    }
}

/* Returns 1 if a block has dirty bytes of a block range, 0 if not or if block is NULL, or
   -ENOMEM. With the gate held. */
static int is_dirty(const struct mpiio_cache *cache, const struct mpiio_block_walk *portion,
                    struct mpiio_block *block)
{
    struct mpiio_slot_access look = {.portion = portion};
    bool done;

    assert(mpiio_is_held_any(&cache->gate));
    if (block == NULL)
        return 0;
    pthread_rwlock_rdlock(&block->lock);
    done = mpiio_cache_access(cache, &look, block, look_work);
    pthread_rwlock_unlock(&block->lock);
    return done ? look.found : -ENOMEM;
}

static bool look_at_portion(struct mpiio_block_walk *portion)
{
    struct put *put = portion->argument;
    struct mpiio_cache *cache = put->cache;
    struct mpiio_block *frozen, *active;
    int is_frozen, is_active;

    mpiio_cache_find(cache, portion->block, &frozen, &active);
    is_frozen = is_dirty(cache, portion, frozen);
    is_active = is_dirty(cache, portion, active);
    if (is_frozen > 0)
        put->transfer->error = -EINPROGRESS;
    else if (is_frozen < 0 || is_active < 0)
        put->transfer->error = -ENOMEM;
    put->dirty |= is_active > 0;
    put->clean |= is_active == 0;
    return put->transfer->error == 0;
}

static bool put_dirty_portion(struct mpiio_block_walk *portion)
{
    struct put *put = portion->argument;
    struct mpiio_block *frozen, *active;

    mpiio_cache_find(put->cache, portion->block, &frozen, &active);
    if (is_dirty(put->cache, portion, active) <= 0)
        return true;
    pthread_rwlock_wrlock(&active->lock);
    return put_in(put, portion, active);
}

/* Writes a merged value. If it lies in two blocks, and one of them has no dirty byte of it, the
   whole value also goes to the file. Its dirty bytes will be stored once more. */
static void put_merged(struct put *put)
{
    struct mpiio_cache *cache = put->cache;
    struct mpiio_transfer *transfer = put->transfer;
    bool through;

    pthread_rwlock_rdlock(&cache->gate);
    through = cache->through;
    if (!through)
        mpiio_block_walk(transfer, transfer->length, look_at_portion, put);
    if (put->dirty && transfer->error == 0)
        mpiio_block_walk(transfer, transfer->length, put_dirty_portion, put);
    pthread_rwlock_unlock(&cache->gate);
    transfer->bytes = 0;
    if (transfer->error != 0)
        return;
    if (through)
        put_through(cache, transfer);
    else if (put->clean)
        put_in_file(cache, transfer);
    else
        transfer->bytes = transfer->length;
}

void mpiio_cache_write(struct mpiio_source *source, struct mpiio_transfer *transfer)
{
    struct mpiio_cache *cache = (struct mpiio_cache *)source;
    struct put put = {.cache = cache, .transfer = transfer};

    put.writer = MPIIO_LOCKED(&cache->table, mpiio_writer_get(&cache->writers, transfer->writer));
    transfer->bytes = 0;
    transfer->error = put.writer == NULL ? -ENOMEM : 0;
    if (put.writer == NULL)
        return;
    if (transfer->put == MPIIO_PUT_MERGED)
        put_merged(&put);
    else
        put_all(&put);
}
