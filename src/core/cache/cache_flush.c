/* SPDX-License-Identifier: MIT */
#include "cache_flush.h"

#include <errno.h>
#include <search.h>

#include "core/base/guard.h"
#include "drain.h"
#include "cache_private.h"

/* Seconds between flushes that writers ask for, while flushes fail. */
#define RETRY_SECONDS 1

/* Freezing. */

/* Lock: the gate, exclusively. */
static int freeze(struct mpiio_back *back)
{
    struct mpiio_blocks *blocks = back->active;

    if (back->busy)
        return -EBUSY;
    mpiio_blocks_sort(blocks);
    back->active = back->frozen;
    back->frozen = blocks;
    for (size_t i = 0; i < blocks->count; i++)
        blocks->list[i]->error = 0;
    pthread_mutex_lock(&back->state);
    back->frozen_end = back->active_end;
    back->active_end = 0;
    back->number++;
    back->busy = true;
    back->asked = false;
    pthread_mutex_unlock(&back->state);
    return 0;
}

int mpiio_back_freeze(struct mpiio_back *back, const struct mpiio_frozen **frozen, size_t *count)
{
    int error;

    pthread_rwlock_wrlock(&back->gate);
    error = freeze(back);
    for (size_t i = 0; i < back->frozen->count && error == 0; i++)
        back->list[i] = (struct mpiio_frozen){.block = back->frozen->list[i]->number,
                                              .slot = back->frozen->list[i]->slot,
                                              .tried = back->frozen->list[i]->tried};
    *frozen = back->list;
    *count = back->frozen->count;
    pthread_rwlock_unlock(&back->gate);
    return error;
}

/* Resolving. All but the last of it happens with the gate held exclusively. */

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
                         merge->lower.mask + word, merge->lower.data + word * 64, words);
    }
    for (size_t i = 0; i < MPIIO_PAGE_WORDS; i++)
        merge->upper.pages[i] |= merge->lower.pages[i];
}

/* Lays a block under the active one with its number. Nothing may be lost: it waits for memory. */
static void merge_under(struct mpiio_back *back, struct mpiio_block *active,
                        const struct mpiio_block *block)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    struct merge merge = {.upper = mpiio_slots_get(&back->slots, active->slot),
                          .lower = mpiio_slots_get(&back->slots, block->slot)};
    int64_t before = mpiio_back_memory(back, active);

    while (!mpiio_guard_call(merge_work, &merge, back->slots.base, back->slots.size))
        nanosleep(&pause, NULL);
    back->memory += mpiio_back_memory(back, active) - before;
    for (size_t i = 0; i < block->holders.count; i++)
        mpiio_holders_add(&active->holders, block->holders.holder[i]);
    active->holders.everyone |= block->holders.everyone;
}

/* Returns true where the block is active again, false where its slot is free. */
static bool keep(struct mpiio_back *back, struct mpiio_block *block)
{
    struct mpiio_block *active = mpiio_blocks_find(back->active, block->number);

    if (active == NULL)
        mpiio_blocks_add(back->active, block);
    else
        merge_under(back, active, block);
    (active == NULL ? block : active)->tried = true;
    return active == NULL;
}

static void forget_round(const void *node, VISIT visit, void *closure)
{
    (void)closure;
    if (visit == postorder || visit == leaf)
        (*(struct mpiio_holder *const *)node)->round = 0;
}

static void end_round(const void *node, VISIT visit, void *closure)
{
    struct mpiio_holder *holder = *(struct mpiio_holder *const *)node;
    const struct mpiio_block *for_everyone = closure;

    if (visit != postorder && visit != leaf)
        return;
    if (holder->round == 0 && for_everyone != NULL)
        holder->round = for_everyone->error;
    holder->unsaved = holder->round;
}

/* Of one that was left for another time nobody needs to know. */
static bool is_failed(const struct mpiio_block *block)
{
    return block->error != 0 && block->error != -EAGAIN;
}

/*
 * What was not stored the last time was in this generation too: who has no error in it has none.
 */
static void tell_holders(struct mpiio_back *back)
{
    const struct mpiio_blocks *blocks = back->frozen;
    struct mpiio_block *for_everyone = NULL;

    pthread_mutex_lock(&back->table);
    twalk_r(back->holders, forget_round, NULL);
    for (size_t i = 0; i < blocks->count; i++) {
        struct mpiio_block *block = blocks->list[i];

        if (!is_failed(block))
            continue;
        if (block->holders.everyone)
            for_everyone = block;
        for (size_t j = 0; j < block->holders.count; j++)
            if (block->holders.holder[j]->round == 0)
                block->holders.holder[j]->round = block->error;
    }
    twalk_r(back->holders, end_round, for_everyone);
    pthread_mutex_unlock(&back->table);
}

/* What came of the blocks of a generation. */
struct outcome {
    size_t stored, failed, left;
};

static struct outcome count_outcome(const struct mpiio_blocks *blocks)
{
    struct outcome outcome = {0};

    for (size_t i = 0; i < blocks->count; i++) {
        const struct mpiio_block *block = blocks->list[i];

        *(block->error == 0  ? &outcome.stored
          : is_failed(block) ? &outcome.failed
                             : &outcome.left) += 1;
    }
    return outcome;
}

/* Empties the frozen generation. Returns the blocks whose slots are to be freed, chained. */
static struct mpiio_block *split(struct mpiio_back *back)
{
    struct mpiio_blocks *blocks = back->frozen;
    struct mpiio_block *dropped = NULL;
    size_t count = blocks->count;

    mpiio_blocks_clear(blocks);
    for (size_t i = 0; i < count; i++) {
        struct mpiio_block *block = blocks->list[i];

        if (block->error != 0 && keep(back, block))
            continue;
        back->memory -= mpiio_back_memory(back, block);
        block->next = dropped;
        dropped = block;
    }
    return dropped;
}

static void end_generation(struct mpiio_back *back, struct outcome outcome)
{
    pthread_mutex_lock(&back->state);
    if (outcome.failed + outcome.left > 0 && back->frozen_end > back->active_end)
        back->active_end = back->frozen_end;
    back->frozen_end = 0;
    back->busy = false;
    back->failing = outcome.failed > 0;
    clock_gettime(CLOCK_MONOTONIC, &back->retry);
    back->retry.tv_sec += RETRY_SECONDS;
    back->stored += outcome.stored;
    back->failed += outcome.failed;
    pthread_cond_broadcast(&back->changed);
    pthread_mutex_unlock(&back->state);
}

/*
 * Empties a slot that nobody can find any more. Memory is kept for reuse where there is much of it,
 * up to half of dirty_max: pages that are new to the process cost ten times what is copied to them.
 */
static void free_slot(struct mpiio_back *back, struct mpiio_block *block)
{
    int64_t memory = mpiio_back_memory(back, block);

    pthread_mutex_lock(&back->table);
    if (!block->kept && memory > MPIIO_BLOCK_SIZE / 2 &&
        (back->kept + 1) * MPIIO_SLOT_SIZE <= back->dirty_max / 2) {
        block->kept = true;
        back->kept++;
    }
    pthread_mutex_unlock(&back->table);
    mpiio_holders_clear(&block->holders);
    mpiio_slots_clear(&back->slots, block->slot, block->kept);
    pthread_mutex_lock(&back->table);
    if (block->kept)
        back->free_kept[back->free_kept_count++] = block->slot;
    else
        back->free[back->free_count++] = block->slot;
    back->free_slots++;
    pthread_mutex_unlock(&back->table);
}

void mpiio_back_trim(struct mpiio_back *back)
{
    pthread_mutex_lock(&back->table);
    while (back->free_kept_count > 0) {
        int slot = back->free_kept[--back->free_kept_count];

        back->block[slot].kept = false;
        back->kept--;
        back->free[back->free_count++] = slot;
        mpiio_slots_clear(&back->slots, slot, false);
    }
    pthread_mutex_unlock(&back->table);
}

static void free_slots(struct mpiio_back *back, struct mpiio_block *dropped)
{
    while (dropped != NULL) {
        struct mpiio_block *next = dropped->next;

        free_slot(back, dropped);
        dropped = next;
    }
    pthread_mutex_lock(&back->state);
    pthread_cond_broadcast(&back->changed);
    pthread_mutex_unlock(&back->state);
}

static void settle(struct mpiio_back *back)
{
    struct mpiio_block *dropped;
    struct outcome outcome;

    pthread_rwlock_wrlock(&back->gate);
    outcome = count_outcome(back->frozen);
    if (outcome.failed > 0 || back->failing)
        tell_holders(back);
    back->drops++;
    dropped = split(back);
    end_generation(back, outcome);
    pthread_rwlock_unlock(&back->gate);
    free_slots(back, dropped);
}

void mpiio_back_resolve(struct mpiio_back *back, const int *errors)
{
    for (size_t i = 0; i < back->frozen->count; i++)
        back->frozen->list[i]->error = errors == NULL ? 0 : errors[i];
    settle(back);
}

/* Storing alone. */

/* Of what was left nobody is told, but here nothing is: a filesystem may have refused so. */
static int drain(struct mpiio_back *back, const struct mpiio_block *block,
                 struct mpiio_counters *done)
{
    struct mpiio_slot slot = mpiio_slots_get(&back->slots, block->slot);
    int error = mpiio_drain(back->file, block->number, &slot, done);

    return error == -EAGAIN ? -EIO : error;
}

/* Nobody else changes the frozen generation. Returns the first error. */
static int drain_frozen(struct mpiio_back *back)
{
    struct mpiio_counters done = {0};
    int error = 0;

    for (size_t i = 0; i < back->frozen->count; i++) {
        struct mpiio_block *block = back->frozen->list[i];

        block->error = drain(back, block, &done);
        error = error == 0 ? block->error : error;
    }
    mpiio_file_count(back->file, &done);
    settle(back);
    return error;
}

int mpiio_back_store_all(struct mpiio_back *back)
{
    int error;

    pthread_mutex_lock(&back->flush);
    pthread_rwlock_wrlock(&back->gate);
    if (back->busy) {
        pthread_rwlock_unlock(&back->gate);
        drain_frozen(back);
        pthread_rwlock_wrlock(&back->gate);
    }
    error = freeze(back);
    pthread_rwlock_unlock(&back->gate);
    if (error == 0)
        error = drain_frozen(back);
    pthread_mutex_unlock(&back->flush);
    return error;
}
