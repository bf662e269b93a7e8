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

static void tell_wait(const struct mpiio_back *back, bool waits)
{
    if (back->wait != NULL)
        back->wait(back->wait_argument, waits);
}

/* Returns false where there is none and nobody waits any more. */
static bool wait_for_room(struct mpiio_back *back)
{
    bool waits;

    tell_wait(back, true);
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
    tell_wait(back, false);
    return !waits;
}

/* The same: until what is frozen, if anything is, has been resolved. */
static bool wait_for_flush(struct mpiio_back *back)
{
    uint64_t generation;
    int error;

    pthread_mutex_lock(&back->state);
    generation = back->number - 1;
    pthread_mutex_unlock(&back->state);
    tell_wait(back, true);
    error = mpiio_back_wait(back, generation, NULL);
    tell_wait(back, false);
    return error == 0;
}

int mpiio_back_await(struct mpiio_back *back, int error)
{
    bool done;

    if (error != -ENOBUFS && error != -EINPROGRESS)
        return error;
    done = error == -ENOBUFS ? wait_for_room(back) : wait_for_flush(back);
    return done ? 0 : -EIO;
}

/* Putting. */

struct put {
    struct mpiio_back *back;
    struct mpiio_holder *holder;
    const char *buffer;
    bool now;     /* it does not wait */
    size_t bytes; /* that were put when it stopped */
    int error;
};

static bool stop_at(struct put *put, const struct mpiio_portion *portion, int error)
{
    put->bytes = (size_t)(portion->part[0].memory - put->buffer);
    put->error = error;
    return false;
}

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
        block->tried = false;
        mpiio_blocks_add(back->active, block);
    }
    pthread_mutex_unlock(&back->table);
    return block;
}

/*
 * The block to put to, with the gate shared and itself locked; NULL: there is none, for a reason
 * that error gets, or because of writing through, 0.
 */
static struct mpiio_block *enter(const struct put *put, int64_t number, int *error)
{
    struct mpiio_back *back = put->back;
    struct mpiio_block *block;

    *error = 0;
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
        *error = put->now ? -ENOBUFS : mpiio_back_await(back, -ENOBUFS);
        if (*error != 0)
            return NULL;
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

/* Copies to an active block, with the gate shared and the block locked, which it unlocks. */
static bool put_in(struct put *put, const struct mpiio_portion *portion, struct mpiio_block *block)
{
    struct mpiio_back *back = put->back;
    int64_t before = mpiio_back_memory(back, block), end = mpiio_portion_end(portion);
    bool done;

    mpiio_holders_add(&block->holders, put->holder);
    done = mpiio_back_copy(back, portion, block, put_work);
    back->memory += mpiio_back_memory(back, block) - before;
    pthread_rwlock_unlock(&block->lock);
    pthread_mutex_lock(&back->state);
    back->active_end = end > back->active_end ? end : back->active_end;
    pthread_mutex_unlock(&back->state);
    return done || stop_at(put, portion, -ENOMEM);
}

static bool put_portion(struct mpiio_portion *portion)
{
    struct put *put = portion->argument;
    int error;
    struct mpiio_block *block = enter(put, portion->block, &error);
    bool done;

    if (block == NULL)
        return stop_at(put, portion, error);
    done = put_in(put, portion, block);
    pthread_rwlock_unlock(&put->back->gate);
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

/* mpiio_put: an error of the filesystem's is none that mpiio_back_await waits for. */
static size_t put_in_file(const struct mpiio_back *back, const struct vs_map *map, int64_t position,
                          size_t length, const void *buffer, int *error,
                          struct mpiio_counters *done)
{
    size_t bytes = mpiio_put(back->file, map, position, length, buffer, error, done);

    if (*error == -ENOBUFS || *error == -EINPROGRESS)
        *error = -EIO;
    return bytes;
}

/* Once nothing is dirty it stays so, and nothing is to be excluded. */
static size_t put_through(struct mpiio_back *back, const struct vs_map *map, int64_t position,
                          size_t length, const void *buffer, int *error,
                          struct mpiio_counters *done)
{
    size_t bytes;

    if (mpiio_back_is_empty(back))
        return put_in_file(back, map, position, length, buffer, error, done);
    pthread_mutex_lock(&back->flush);
    bytes = put_in_file(back, map, position, length, buffer, error, done);
    back->drops++;
    mpiio_portion_walk(map, position, bytes, (char *)buffer, forget_portion, back);
    pthread_mutex_unlock(&back->flush);
    return bytes;
}

static size_t put_all(struct put *put, const struct vs_map *map, int64_t position, size_t length,
                      uint64_t id, int *error, struct mpiio_counters *done)
{
    struct mpiio_back *back = put->back;

    put->holder = mpiio_back_holder(back, id, true);
    *error = -ENOMEM;
    if (put->holder == NULL)
        return 0;
    put->bytes = length;
    if (!back->through)
        mpiio_portion_walk(map, position, length, (char *)put->buffer, put_portion, put);
    else
        put->bytes = 0;
    *error = put->error;
    if (put->bytes < length && put->error == 0)
        return put->bytes + put_through(back, map, position + (int64_t)put->bytes,
                                        length - put->bytes, put->buffer + put->bytes, error, done);
    if (back->memory >= back->dirty_max / 2) {
        pthread_mutex_lock(&back->state);
        ask(back);
        pthread_mutex_unlock(&back->state);
    }
    return put->bytes;
}

size_t mpiio_back_put(struct mpiio_back *back, const struct vs_map *map, int64_t position,
                      size_t length, const void *buffer, uint64_t id, int *error,
                      struct mpiio_counters *done)
{
    struct put put = {.back = back, .buffer = buffer};

    return put_all(&put, map, position, length, id, error, done);
}

size_t mpiio_back_put_now(struct mpiio_back *back, const struct vs_map *map, int64_t position,
                          size_t length, const void *buffer, uint64_t id, int *error,
                          struct mpiio_counters *done)
{
    struct put put = {.back = back, .buffer = buffer, .now = true};

    return put_all(&put, map, position, length, id, error, done);
}

/* Values that were read and changed. */

struct merged {
    struct put put;
    bool dirty, clean; /* bytes in blocks that have some of it, and that have none */
};

/* Looks for bytes of a portion in a slot. */
struct look {
    const struct mpiio_portion *portion;
    struct mpiio_slot slot;
    bool found;
};

static void look_work(void *argument)
{
    struct look *look = argument;

    for (int i = 0; i < look->portion->count; i++) {
        struct mpiio_piece part = look->portion->part[i];

        while (part.count > 0 && !look->found) {
            size_t start = mpiio_portion_runs(&part).start;

            look->found = mpiio_slot_has(&look->slot, start, start + (size_t)part.length);
            mpiio_piece_advance(&part, 1);
        }
    }
}

/* Whether bytes of a portion are in a block, if there is one: 0, 1, or -ENOMEM. The gate is held.
 */
static int is_dirty(const struct mpiio_back *back, const struct mpiio_portion *portion,
                    struct mpiio_block *block)
{
    struct look look = {.portion = portion};
    bool done;

    if (block == NULL)
        return 0;
    look.slot = mpiio_slots_get(&back->slots, block->slot);
    pthread_rwlock_rdlock(&block->lock);
    done = mpiio_guard_call(look_work, &look, back->slots.base, back->slots.size);
    pthread_rwlock_unlock(&block->lock);
    return done ? look.found : -ENOMEM;
}

static bool look_at_portion(struct mpiio_portion *portion)
{
    struct merged *merged = portion->argument;
    struct mpiio_back *back = merged->put.back;
    struct mpiio_block *frozen, *active;
    int is_frozen, is_active;

    mpiio_back_find(back, portion->block, &frozen, &active);
    is_frozen = is_dirty(back, portion, frozen);
    is_active = is_dirty(back, portion, active);
    if (is_frozen > 0)
        merged->put.error = -EINPROGRESS;
    else if (is_frozen < 0 || is_active < 0)
        merged->put.error = -ENOMEM;
    merged->dirty |= is_active > 0;
    merged->clean |= is_active == 0;
    return merged->put.error == 0;
}

static bool put_dirty_portion(struct mpiio_portion *portion)
{
    struct merged *merged = portion->argument;
    struct mpiio_block *frozen, *active;

    mpiio_back_find(merged->put.back, portion->block, &frozen, &active);
    if (is_dirty(merged->put.back, portion, active) <= 0)
        return true;
    pthread_rwlock_wrlock(&active->lock);
    return put_in(&merged->put, portion, active);
}

/*
 * A value that lies in two blocks, one of which has none of it, goes to the file as a whole, too:
 * the bytes that are also dirty will be stored once more.
 */
size_t mpiio_back_put_merged(struct mpiio_back *back, const struct vs_map *map, int64_t position,
                             size_t length, const void *buffer, uint64_t id, int *error,
                             struct mpiio_counters *done)
{
    struct merged merged = {.put = {.back = back, .buffer = buffer}};
    bool through;

    merged.put.holder = mpiio_back_holder(back, id, true);
    *error = -ENOMEM;
    if (merged.put.holder == NULL)
        return 0;
    pthread_rwlock_rdlock(&back->gate);
    through = back->through;
    if (!through)
        mpiio_portion_walk(map, position, length, (char *)buffer, look_at_portion, &merged);
    if (merged.dirty && merged.put.error == 0)
        mpiio_portion_walk(map, position, length, (char *)buffer, put_dirty_portion, &merged);
    pthread_rwlock_unlock(&back->gate);
    *error = merged.put.error;
    if (*error != 0)
        return 0;
    if (through)
        return put_through(back, map, position, length, buffer, error, done);
    return merged.clean ? put_in_file(back, map, position, length, buffer, error, done) : length;
}
