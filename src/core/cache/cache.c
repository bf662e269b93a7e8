/* SPDX-License-Identifier: MIT */
#include "cache_private.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/guard.h"

/* Slots that there may be, most of which take no memory: it bounds the address space. */
#define SLOTS_MAX 16384
#define SLOTS_MIN 64

/* Making and freeing. */

static int slots_for(int64_t dirty_max)
{
    int64_t slots = dirty_max / (4 * MPIIO_PAGE_SIZE);

    if (slots < SLOTS_MIN)
        return SLOTS_MIN;
    return slots < SLOTS_MAX ? (int)slots : SLOTS_MAX;
}

/* A writer would wait for ever for readers that keep coming. */
static void init_gate(pthread_rwlock_t *gate)
{
    pthread_rwlockattr_t attributes;

    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(gate, &attributes);
    pthread_rwlockattr_destroy(&attributes);
}

static void init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

static int init(struct mpiio_back *back)
{
    size_t slots = (size_t)back->slots.count;

    back->block = calloc(slots, sizeof(struct mpiio_block));
    back->free = calloc(slots, sizeof(int));
    back->free_kept = calloc(slots, sizeof(int));
    back->list = calloc(slots, sizeof(struct mpiio_frozen));
    if (back->block == NULL || back->free == NULL || back->free_kept == NULL ||
        back->list == NULL || mpiio_blocks_init(&back->sets[0], slots) != 0 ||
        mpiio_blocks_init(&back->sets[1], slots) != 0)
        return -ENOMEM;
    for (size_t i = 0; i < slots; i++) {
        back->block[i].slot = (int)i;
        back->free[i] = (int)(slots - 1 - i);
        pthread_rwlock_init(&back->block[i].lock, NULL);
    }
    back->free_count = back->free_slots = (int)slots;
    back->active = &back->sets[0];
    back->frozen = &back->sets[1];
    back->number = 1;
    init_gate(&back->gate);
    init_condition(&back->changed);
    pthread_mutex_init(&back->flush, NULL);
    pthread_mutex_init(&back->table, NULL);
    pthread_mutex_init(&back->state, NULL);
    return 0;
}

static void free_memory(struct mpiio_back *back)
{
    mpiio_blocks_destroy(&back->sets[0]);
    mpiio_blocks_destroy(&back->sets[1]);
    free(back->block);
    free(back->free);
    free(back->free_kept);
    free(back->list);
    mpiio_slots_destroy(&back->slots);
    free(back);
}

int mpiio_back_new(struct mpiio_file *file, int64_t dirty_max, struct mpiio_back **back)
{
    struct mpiio_back *new = calloc(1, sizeof(*new));
    int error;

    if (new == NULL)
        return -ENOMEM;
    error = mpiio_slots_create(&new->slots, slots_for(dirty_max));
    if (error != 0) {
        free(new);
        return error;
    }
    new->file = file;
    new->dirty_max = dirty_max;
    error = init(new);
    if (error != 0) {
        free_memory(new);
        return error;
    }
    *back = new;
    return 0;
}

void mpiio_back_free(struct mpiio_back *back)
{
    if (back == NULL)
        return;
    for (int i = 0; i < back->slots.count; i++) {
        mpiio_holders_clear(&back->block[i].holders);
        pthread_rwlock_destroy(&back->block[i].lock);
    }
    mpiio_holder_free_all(&back->holders);
    pthread_mutex_destroy(&back->state);
    pthread_mutex_destroy(&back->table);
    pthread_mutex_destroy(&back->flush);
    pthread_cond_destroy(&back->changed);
    pthread_rwlock_destroy(&back->gate);
    free_memory(back);
}

const struct mpiio_slots *mpiio_back_slots(const struct mpiio_back *back)
{
    return &back->slots;
}

void mpiio_back_on_full(struct mpiio_back *back, void (*full)(void *argument), void *argument)
{
    back->full = full;
    back->argument = argument;
}

void mpiio_back_on_wait(struct mpiio_back *back, void (*wait)(void *argument, bool waits),
                        void *argument)
{
    back->wait = wait;
    back->wait_argument = argument;
}

bool mpiio_back_copy(const struct mpiio_back *back, const struct mpiio_portion *portion,
                     const struct mpiio_block *block, void (*work)(void *argument))
{
    struct mpiio_copy copy = {.portion = portion,
                              .slot = mpiio_slots_get(&back->slots, block->slot)};

    return mpiio_guard_call(work, &copy, back->slots.base, back->slots.size);
}

int64_t mpiio_back_memory(const struct mpiio_back *back, const struct mpiio_block *block)
{
    return mpiio_slot_memory(mpiio_slots_get(&back->slots, block->slot).pages);
}

void mpiio_back_find(struct mpiio_back *back, int64_t number, struct mpiio_block **frozen,
                     struct mpiio_block **active)
{
    pthread_mutex_lock(&back->table);
    *frozen = mpiio_blocks_find(back->frozen, number);
    *active = mpiio_blocks_find(back->active, number);
    pthread_mutex_unlock(&back->table);
}

struct mpiio_holder *mpiio_back_holder(struct mpiio_back *back, uint64_t id, bool make)
{
    struct mpiio_holder *holder;

    pthread_mutex_lock(&back->table);
    holder = make ? mpiio_holder_get(&back->holders, id) : mpiio_holder_find(&back->holders, id);
    pthread_mutex_unlock(&back->table);
    return holder;
}

int64_t mpiio_back_end(struct mpiio_back *back)
{
    int64_t end;

    pthread_mutex_lock(&back->state);
    end = back->active_end > back->frozen_end ? back->active_end : back->frozen_end;
    pthread_mutex_unlock(&back->state);
    return end;
}

bool mpiio_back_is_empty(struct mpiio_back *back)
{
    bool empty;

    pthread_rwlock_rdlock(&back->gate);
    pthread_mutex_lock(&back->table);
    empty = back->active->count == 0 && back->frozen->count == 0;
    pthread_mutex_unlock(&back->table);
    pthread_rwlock_unlock(&back->gate);
    return empty;
}

/* Generations. */

uint64_t mpiio_back_generation(struct mpiio_back *back)
{
    uint64_t generation;
    bool any;

    pthread_rwlock_rdlock(&back->gate);
    pthread_mutex_lock(&back->table);
    any = back->active->count > 0;
    pthread_mutex_unlock(&back->table);
    pthread_mutex_lock(&back->state);
    generation = any ? back->number : back->number - 1;
    pthread_mutex_unlock(&back->state);
    pthread_rwlock_unlock(&back->gate);
    return generation;
}

/* Lock: state. */
static bool is_resolved(const struct mpiio_back *back, uint64_t generation)
{
    return generation + (back->busy ? 1 : 0) < back->number;
}

int mpiio_back_wait(struct mpiio_back *back, uint64_t generation, const struct timespec *deadline)
{
    int error = 0;

    pthread_mutex_lock(&back->state);
    while (!is_resolved(back, generation) && !back->stopped && error == 0)
        error = deadline == NULL ? pthread_cond_wait(&back->changed, &back->state)
                                 : pthread_cond_timedwait(&back->changed, &back->state, deadline);
    if (is_resolved(back, generation))
        error = 0;
    else if (back->stopped)
        error = ECANCELED;
    pthread_mutex_unlock(&back->state);
    return -error;
}

int mpiio_back_error(struct mpiio_back *back, uint64_t id)
{
    struct mpiio_holder *holder;
    int error = 0;

    pthread_mutex_lock(&back->table);
    holder = mpiio_holder_find(&back->holders, id);
    if (holder != NULL)
        error = holder->unsaved;
    pthread_mutex_unlock(&back->table);
    return error;
}

/* Sets a flag that those who wait look at. */
static void raise_flag(struct mpiio_back *back, atomic_bool *flag)
{
    pthread_rwlock_wrlock(&back->gate);
    *flag = true;
    pthread_rwlock_unlock(&back->gate);
    pthread_mutex_lock(&back->state);
    pthread_cond_broadcast(&back->changed);
    pthread_mutex_unlock(&back->state);
}

void mpiio_back_write_through(struct mpiio_back *back)
{
    raise_flag(back, &back->through);
}

void mpiio_back_stop(struct mpiio_back *back)
{
    raise_flag(back, &back->stopped);
}

/* Counts the bytes of a set; it may get more blocks meanwhile, but loses none. */
static void count_bytes(struct mpiio_back *back, const struct mpiio_blocks *blocks,
                        struct mpiio_back_stats *stats)
{
    size_t count;

    pthread_mutex_lock(&back->table);
    count = blocks->count;
    pthread_mutex_unlock(&back->table);
    for (size_t i = 0; i < count; i++) {
        struct mpiio_block *block = blocks->list[i];
        struct mpiio_slot slot = mpiio_slots_get(&back->slots, block->slot);

        pthread_rwlock_rdlock(&block->lock);
        stats->dirty_bytes += mpiio_slot_bytes(&slot);
        pthread_rwlock_unlock(&block->lock);
    }
    stats->dirty_blocks += (int64_t)count;
}

void mpiio_back_get_stats(struct mpiio_back *back, struct mpiio_back_stats *stats)
{
    *stats = (struct mpiio_back_stats){0};
    pthread_rwlock_rdlock(&back->gate);
    count_bytes(back, back->frozen, stats);
    count_bytes(back, back->active, stats);
    pthread_mutex_lock(&back->state);
    stats->waits = back->waits;
    stats->flushes = back->number - (back->busy ? 2 : 1);
    stats->stored = back->stored;
    stats->failed = back->failed;
    stats->dirty_memory = back->memory;
    pthread_mutex_unlock(&back->state);
    pthread_rwlock_unlock(&back->gate);
}
