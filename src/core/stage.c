/* SPDX-License-Identifier: MIT */
#include "back_private.h"

#include <errno.h>

#include "gather.h"
#include "portion.h"
#include "put.h"

/* Writing to the active generation. */

/* Waiting for room. */

static bool is_full(const struct mpiio_back *back)
{
    return back->memory >= back->dirty_max || back->free_slots == 0;
}

static bool is_past(const struct timespec *time)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec > time->tv_sec ||
           (now.tv_sec == time->tv_sec && now.tv_nsec >= time->tv_nsec);
}

/* Asks for a flush where that makes sense now. Lock: state, which is let go meanwhile. */
static bool ask(struct mpiio_back *back)
{
    if (back->full == NULL || back->asked || back->busy ||
        (back->failing && !is_past(&back->retry)))
        return false;
    back->asked = true;
    pthread_mutex_unlock(&back->state);
    back->full(back->argument);
    pthread_mutex_lock(&back->state);
    return true;
}

/* Returns false where there is none and nobody waits any more. */
static bool wait_for_room(struct mpiio_back *back)
{
    bool waits;

    if (back->wait != NULL)
        back->wait(back->wait_argument, true);
    pthread_mutex_lock(&back->state);
    back->waits++;
    while ((waits = is_full(back) && !back->through) && !back->stopped) {
        if (ask(back))
            continue;
        if (back->full != NULL && back->failing && !back->asked && !back->busy)
            pthread_cond_timedwait(&back->changed, &back->state, &back->retry);
        else
            pthread_cond_wait(&back->changed, &back->state);
    }
    pthread_mutex_unlock(&back->state);
    if (back->wait != NULL)
        back->wait(back->wait_argument, false);
    return !waits;
}

/* Putting. */

struct put {
    struct mpiio_back *back;
    struct mpiio_holder *holder;
    const char *buffer;
    size_t bytes; /* that were put when it stopped */
    int error;
};

static int take_slot(struct mpiio_back *back)
{
    if (back->free_slots == 0)
        return -1;
    back->free_slots--;
    return back->free_kept_count > 0 ? back->free_kept[--back->free_kept_count]
                                     : back->free[--back->free_count];
}

/* The active block with that number, which is made where it is missing; NULL: no slot is free. */
static struct mpiio_block *active_block(struct mpiio_back *back, int64_t number)
{
    struct mpiio_block *block;
    int slot;

    pthread_mutex_lock(&back->table);
    block = mpiio_blocks_find(back->active, number);
    if (block == NULL && (slot = take_slot(back)) >= 0) {
        block = &back->block[slot];
        block->number = number;
        mpiio_blocks_add(back->active, block);
    }
    pthread_mutex_unlock(&back->table);
    return block;
}

/* The block to put to, with the gate shared and itself locked; NULL: stopped, or through. */
static struct mpiio_block *enter(struct put *put, int64_t number)
{
    struct mpiio_back *back = put->back;
    struct mpiio_block *block;

    for (;;) {
        pthread_rwlock_rdlock(&back->gate);
        if (back->through)
            break;
        block = is_full(back) ? NULL : active_block(back, number);
        if (block != NULL) {
            pthread_rwlock_wrlock(&block->lock);
            return block;
        }
        pthread_rwlock_unlock(&back->gate);
        if (!wait_for_room(back)) {
            put->error = -EIO;
            return NULL;
        }
    }
    pthread_rwlock_unlock(&back->gate);
    return NULL;
}

static void put_work(void *argument)
{
    const struct mpiio_copy *copy = argument;
    const struct mpiio_slot *slot = &copy->slot;

    for (int i = 0; i < copy->portion->count; i++) {
        const struct mpiio_piece *part = &copy->portion->part[i];
        struct mpiio_mask_runs runs = mpiio_portion_runs(part);

        mpiio_slot_touch(slot, runs);
        mpiio_scatter(slot->data + runs.start, part->memory, runs.length, runs.count, runs.stride);
        mpiio_mask_set(slot->mask, runs);
    }
}

static bool put_portion(struct mpiio_portion *portion)
{
    struct put *put = portion->argument;
    struct mpiio_back *back = put->back;
    struct mpiio_block *block = enter(put, portion->block);
    int64_t before, end = mpiio_portion_end(portion);
    bool done;

    if (block == NULL) {
        put->bytes = (size_t)(portion->part[0].memory - put->buffer);
        return false;
    }
    before = mpiio_back_memory(back, block);
    mpiio_holders_add(&block->holders, put->holder);
    done = mpiio_back_copy(back, portion, block, put_work);
    back->memory += mpiio_back_memory(back, block) - before;
    pthread_rwlock_unlock(&block->lock);
    pthread_mutex_lock(&back->state);
    back->active_end = end > back->active_end ? end : back->active_end;
    pthread_mutex_unlock(&back->state);
    pthread_rwlock_unlock(&back->gate);
    if (!done) {
        put->bytes = (size_t)(portion->part[0].memory - put->buffer);
        put->error = -ENOMEM;
    }
    return done;
}

/* What lies in the blocks of bytes that were written through since. */
static void forget_work(void *argument)
{
    const struct mpiio_copy *copy = argument;

    for (int i = 0; i < copy->portion->count; i++)
        mpiio_mask_clear(copy->slot.mask, mpiio_portion_runs(&copy->portion->part[i]));
}

static void forget_in(struct mpiio_portion *portion, struct mpiio_block *block)
{
    if (block != NULL) {
        pthread_rwlock_wrlock(&block->lock);
        /* Where the mask has no memory yet and gets none, its bits are clear. */
        mpiio_back_copy(portion->argument, portion, block, forget_work);
        pthread_rwlock_unlock(&block->lock);
    }
}

static bool forget_portion(struct mpiio_portion *portion)
{
    struct mpiio_back *back = portion->argument;
    struct mpiio_block *frozen, *active;

    pthread_rwlock_rdlock(&back->gate);
    mpiio_back_find(back, portion->block, &frozen, &active);
    forget_in(portion, frozen);
    forget_in(portion, active);
    pthread_rwlock_unlock(&back->gate);
    return true;
}

/* Once nothing is dirty it stays so, and nothing is to be excluded. */
static size_t put_through(struct mpiio_back *back, const struct vs_map *map, int64_t position,
                          size_t length, const void *buffer, int *error,
                          struct mpiio_counters *done)
{
    size_t bytes;

    if (mpiio_back_is_empty(back))
        return mpiio_put(back->store, map, position, length, buffer, error, done);
    pthread_mutex_lock(&back->flush);
    bytes = mpiio_put(back->store, map, position, length, buffer, error, done);
    back->drops++;
    mpiio_portion_walk(map, position, bytes, (char *)buffer, forget_portion, back);
    pthread_mutex_unlock(&back->flush);
    return bytes;
}

size_t mpiio_back_put(struct mpiio_back *back, const struct vs_map *map, int64_t position,
                      size_t length, const void *buffer, uint64_t id, int *error,
                      struct mpiio_counters *done)
{
    struct put put = {.back = back, .buffer = buffer, .bytes = length};

    put.holder = mpiio_back_holder(back, id, true);
    *error = -ENOMEM;
    if (put.holder == NULL)
        return 0;
    if (!back->through)
        mpiio_portion_walk(map, position, length, (char *)buffer, put_portion, &put);
    else
        put.bytes = 0;
    *error = put.error;
    if (put.bytes < length && put.error == 0)
        return put.bytes + put_through(back, map, position + (int64_t)put.bytes, length - put.bytes,
                                       put.buffer + put.bytes, error, done);
    if (back->memory >= back->dirty_max / 2) {
        pthread_mutex_lock(&back->state);
        ask(back);
        pthread_mutex_unlock(&back->state);
    }
    return put.bytes;
}
