/* SPDX-License-Identifier: MIT */
#include "cache.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>

#include "cache_private.h"
#include "core/base/clock.h"
#include "core/base/probe.h"
#include "core/base/thread.h"
#include "viewspec/base/integer.h"

/* Freezing a generation, storing it, and resolving the outcome. */

/* Storing a block. */

/* The maximum number of runs that are written in one call. */
#define DRAIN_RANGES 8192

static int put_all(struct mpiio_file *file, struct mpiio_transfer *transfer,
                   struct mpiio_range *ranges, size_t count)
{
    size_t first = 0;

    while (first < count) {
        int64_t to;

        transfer->ranges = ranges + first;
        transfer->count = count - first;
        file->ops->write_ranges(file, transfer);
        if (transfer->error != 0)
            return transfer->error;
        to = (int64_t)transfer->bytes;
        while (first < count && ranges[first].start + ranges[first].length <= to)
            first++;
        /* If a run was written in part for an unknown reason, the next attempt returns the
           error. */
        if (first < count && ranges[first].start < to) {
            ranges[first].length -= to - ranges[first].start;
            ranges[first].start = to;
        }
    }
    return 0;
}

/*
 * Stores the dirty bytes of a block, and no others. Long runs take one write call each; short ones
 * that lie near each other go through a mapping of the file, as in mpiio_write_runs. Nobody may
 * change the slot meanwhile. Returns 0, or a negative errno; then some of the bytes may be stored.
 * Returns -EIO for -EAGAIN from the filesystem. Nothing is postponed here, but callers take -EAGAIN
 * for a postponed block, and do not report it. Adds the work done to done. Holds no lock.
 */
static int drain_block(struct mpiio_cache *cache, const struct mpiio_block *block,
                       struct mpiio_counters *done)
{
    struct mpiio_slot slot = mpiio_slots_get(&cache->slots, block->slot);
    struct mpiio_transfer transfer = {
        .position = block->number * MPIIO_BLOCK_SIZE, .buffer = slot.data, .done = done};
    struct mpiio_range ranges[DRAIN_RANGES];
    struct mpiio_mask_run run = {0};
    size_t count = 0;
    int error = 0;

    while (error == 0 && mpiio_slot_next_run(&slot, run.end, MPIIO_BLOCK_SIZE, &run)) {
        ranges[count++] = (struct mpiio_range){.start = (int64_t)run.start,
                                               .length = (int64_t)(run.end - run.start)};
        if (count == DRAIN_RANGES) {
            error = put_all(cache->file, &transfer, ranges, count);
            count = 0;
        }
    }
    if (error == 0)
        error = put_all(cache->file, &transfer, ranges, count);
    return error == -EAGAIN ? -EIO : error;
}

/* ms between the flushes that writers request while flushes fail. */
#define RETRY 1000

/* Freezing. */

static int compare_blocks(const void *a, const void *b)
{
    return vs_compare((*(struct mpiio_block *const *)a)->number,
                      (*(struct mpiio_block *const *)b)->number);
}

static int freeze_active(struct mpiio_cache *cache)
{
    struct mpiio_blocks *blocks = cache->active;

    assert(mpiio_is_held_alone(&cache->gate));
    if (cache->busy)
        return -EBUSY;
    assert(cache->frozen->count == 0);
    qsort(blocks->list, blocks->count, sizeof(struct mpiio_block *), compare_blocks);
    cache->active = cache->frozen;
    cache->frozen = blocks;
    for (size_t i = 0; i < blocks->count; i++)
        blocks->list[i]->error = 0;
    pthread_mutex_lock(&cache->state);
    cache->frozen_end = cache->active_end;
    cache->active_end = 0;
    cache->number++;
    cache->busy = true;
    cache->asked = false;
    pthread_mutex_unlock(&cache->state);
    return 0;
}

int mpiio_cache_freeze(struct mpiio_cache *cache, bool may_wait, size_t *count)
{
    struct mpiio_flush_block *list = mpiio_slots_blocks(&cache->slots);
    int error;

    pthread_rwlock_wrlock(&cache->gate);
    error = freeze_active(cache);
    for (size_t i = 0; i < cache->frozen->count && error == 0; i++) {
        const struct mpiio_block *block = cache->frozen->list[i];

        list[i] = (struct mpiio_flush_block){.block = block->number,
                                             .slot = (uint32_t)block->slot,
                                             .may_wait = may_wait && !block->tried};
    }
    *count = cache->frozen->count;
    pthread_rwlock_unlock(&cache->gate);
    return error;
}

/* Resolving. All steps but the last one hold the gate exclusively. */

struct merge {
    struct mpiio_slot upper;
    struct mpiio_slot lower;
};

static void merge_work(void *argument)
{
    const struct merge *merge = argument;
    size_t words = MPIIO_MASK_REACH / 64;

    for (size_t word = 0; word < MPIIO_BLOCK_WORDS; word += words) {
        if (!mpiio_slot_touched(&merge->lower, word * 64, (word + words) * 64))
            continue;
        mpiio_mask_merge(merge->upper.mask + word, merge->upper.data + word * 64,
                         merge->lower.mask + word, merge->lower.data + word * 64, words, true);
    }
    for (size_t i = 0; i < MPIIO_PAGE_WORDS; i++)
        merge->upper.pages[i] |= merge->lower.pages[i];
}

/* Merges a block under the active block of the same number. Data must not be lost, so it retries
   until the kernel provides memory. */
static void merge_under(struct mpiio_cache *cache, struct mpiio_block *active,
                        const struct mpiio_block *block)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    struct merge merge = {.upper = mpiio_slots_get(&cache->slots, active->slot),
                          .lower = mpiio_slots_get(&cache->slots, block->slot)};
    int64_t before = mpiio_cache_memory(cache, active);

    assert(mpiio_is_held_alone(&cache->gate));
    assert(active->number == block->number && active->slot != block->slot);
    while (!mpiio_guard_call(merge_work, &merge, cache->slots.base, cache->slots.size))
        nanosleep(&pause, NULL);
    cache->memory += mpiio_cache_memory(cache, active) - before;
    for (size_t i = 0; i < block->writers.count; i++)
        mpiio_writers_add(&active->writers, block->writers.writer[i]);
    active->writers.everyone |= block->writers.everyone;
}

/* Returns true if the block is active again, false if its slot can be freed. */
static bool keep_block(struct mpiio_cache *cache, struct mpiio_block *block)
{
    struct mpiio_block *active = mpiio_blocks_find(cache->active, block->number);

    assert(block->error != 0);
    if (active == NULL)
        mpiio_blocks_add(cache->active, block);
    else
        merge_under(cache, active, block);
    (active == NULL ? block : active)->tried = true;
    return active == NULL;
}

static void end_round(const void *node, VISIT visit, void *closure)
{
    struct mpiio_writer *writer = *(struct mpiio_writer *const *)node;
    const struct mpiio_block *for_everyone = closure;

    if (visit != postorder && visit != leaf)
        return;
    if (writer->round == 0 && for_everyone != NULL)
        writer->round = for_everyone->error;
    writer->unsaved = writer->round;
    writer->round = 0;
}

/* Returns true if storing a block failed. A postponed block has not failed. */
static bool is_failed(const struct mpiio_block *block)
{
    return block->error != 0 && block->error != -EAGAIN;
}

/* Sets the errors of writers. This generation includes all blocks that were not stored the last
   time, so a writer without an error in it has none. */
static void tell_writers(struct mpiio_cache *cache)
{
    const struct mpiio_blocks *blocks = cache->frozen;
    struct mpiio_block *for_everyone = NULL;

    pthread_mutex_lock(&cache->table);
    for (size_t i = 0; i < blocks->count; i++) {
        struct mpiio_block *block = blocks->list[i];

        if (!is_failed(block))
            continue;
        if (block->writers.everyone)
            for_everyone = block;
        for (size_t j = 0; j < block->writers.count; j++)
            if (block->writers.writer[j]->round == 0)
                block->writers.writer[j]->round = block->error;
    }
    twalk_r(cache->writers, end_round, for_everyone);
    pthread_mutex_unlock(&cache->table);
}

/* The number of blocks of a generation by outcome. */
struct outcome {
    size_t stored, dirty;
    size_t failed; /* of the dirty ones */
};

static struct outcome count_outcome(const struct mpiio_blocks *blocks)
{
    struct outcome outcome = {0};

    for (size_t i = 0; i < blocks->count; i++) {
        const struct mpiio_block *block = blocks->list[i];

        outcome.stored += block->error == 0;
        outcome.dirty += block->error != 0;
        outcome.failed += is_failed(block);
    }
    return outcome;
}

static void push_block(struct mpiio_block **list, struct mpiio_block *block)
{
    block->next = *list;
    *list = block;
}

/* Empties the frozen generation. Returns the blocks whose slots must be freed, as a list. */
static struct mpiio_block *split_blocks(struct mpiio_cache *cache)
{
    struct mpiio_blocks *blocks = cache->frozen;
    struct mpiio_block *dropped = NULL;
    size_t count = blocks->count;

    assert(mpiio_is_held_alone(&cache->gate));
    assert(cache->busy);
    mpiio_blocks_clear(blocks);
    for (size_t i = 0; i < count; i++) {
        struct mpiio_block *block = blocks->list[i];

        if (block->error != 0 && keep_block(cache, block))
            continue;
        cache->memory -= mpiio_cache_memory(cache, block);
        assert(cache->memory >= 0);
        push_block(&dropped, block);
    }
    return dropped;
}

static void end_generation(struct mpiio_cache *cache, struct outcome outcome)
{
    assert(cache->busy);
    pthread_mutex_lock(&cache->state);
    if (outcome.dirty > 0 && cache->frozen_end > cache->active_end)
        cache->active_end = cache->frozen_end;
    cache->frozen_end = 0;
    cache->busy = false;
    cache->failing = outcome.failed > 0;
    cache->retry = mpiio_clock() + RETRY;
    cache->stored += outcome.stored;
    cache->failed += outcome.failed;
    pthread_cond_broadcast(&cache->changed);
    pthread_mutex_unlock(&cache->state);
}

/* Empties a slot that no other thread can find. Keeps its memory for reuse if more than half a
   block of it is in use, up to half of dirty_max in total: new pages cost the process ten times
   as much as copying to them. */
static void free_slot(struct mpiio_cache *cache, struct mpiio_block *block)
{
    int64_t memory = mpiio_cache_memory(cache, block);

    pthread_mutex_lock(&cache->table);
    if (!block->kept && memory > MPIIO_BLOCK_SIZE / 2 &&
        (cache->kept + 1) * MPIIO_SLOT_SIZE <= cache->dirty_max / 2) {
        block->kept = true;
        cache->kept++;
    }
    pthread_mutex_unlock(&cache->table);
    mpiio_writers_clear(&block->writers);
    mpiio_slots_clear(&cache->slots, block->slot, block->kept);
    pthread_mutex_lock(&cache->table);
    push_block(block->kept ? &cache->free_kept : &cache->free, block);
    cache->free_slots++;
    assert(cache->free_slots <= cache->slots.count);
    pthread_mutex_unlock(&cache->table);
}

void mpiio_cache_trim(struct mpiio_cache *cache)
{
    pthread_mutex_lock(&cache->table);
    while (cache->free_kept != NULL) {
        struct mpiio_block *block = cache->free_kept;

        cache->free_kept = block->next;
        block->kept = false;
        cache->kept--;
        mpiio_slots_clear(&cache->slots, block->slot, false);
        push_block(&cache->free, block);
    }
    pthread_mutex_unlock(&cache->table);
}

static void free_slots(struct mpiio_cache *cache, struct mpiio_block *dropped)
{
    while (dropped != NULL) {
        struct mpiio_block *next = dropped->next;

        free_slot(cache, dropped);
        dropped = next;
    }
    pthread_mutex_lock(&cache->state);
    pthread_cond_broadcast(&cache->changed);
    pthread_mutex_unlock(&cache->state);
}

static void settle_frozen(struct mpiio_cache *cache)
{
    struct mpiio_block *dropped;
    struct outcome outcome;

    pthread_rwlock_wrlock(&cache->gate);
    outcome = count_outcome(cache->frozen);
    if (outcome.failed > 0 || cache->failing)
        tell_writers(cache);
    cache->drops++;
    dropped = split_blocks(cache);
    end_generation(cache, outcome);
    pthread_rwlock_unlock(&cache->gate);
    free_slots(cache, dropped);
}

void mpiio_cache_resolve(struct mpiio_cache *cache, const int *errors)
{
    assert(cache->busy);
    for (size_t i = 0; i < cache->frozen->count; i++) {
        struct mpiio_block *block = cache->frozen->list[i];

        block->error = errors == NULL ? 0 : errors[i];
        MPIIO_PROBE(block_stored, block->number * MPIIO_BLOCK_SIZE, block->error);
    }
    settle_frozen(cache);
}

/* Storing alone. */

/* Stores the frozen generation, which only this thread changes. Returns the first error. */
static int drain_frozen(struct mpiio_cache *cache)
{
    struct mpiio_counters done = {0};
    int error = 0;

    for (size_t i = 0; i < cache->frozen->count; i++) {
        struct mpiio_block *block = cache->frozen->list[i];

        block->error = drain_block(cache, block, &done);
        MPIIO_PROBE(block_stored, block->number * MPIIO_BLOCK_SIZE, block->error);
        error = error == 0 ? block->error : error;
    }
    mpiio_file_count(cache->file, &done);
    settle_frozen(cache);
    return error;
}

int mpiio_cache_store_all(struct mpiio_cache *cache)
{
    int error;

    if (cache == NULL)
        return 0;
    pthread_mutex_lock(&cache->flush);
    pthread_rwlock_wrlock(&cache->gate);
    if (cache->busy) {
        pthread_rwlock_unlock(&cache->gate);
        drain_frozen(cache);
        pthread_rwlock_wrlock(&cache->gate);
    }
    error = freeze_active(cache);
    pthread_rwlock_unlock(&cache->gate);
    if (error == 0)
        error = drain_frozen(cache);
    pthread_mutex_unlock(&cache->flush);
    return error;
}
