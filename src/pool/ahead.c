/* SPDX-License-Identifier: MIT */
#include "ahead.h"

#include "core/base/clock.h"
#include "core/base/thread.h"

/* ms after which memory that nobody uses is given back. */
#define IDLE 300000

void mpiio_pool_ahead_init(struct mpiio_pool_ahead *ahead, struct mpiio_pool_memory *memory)
{
    int64_t most = memory->most / 4;

    *ahead = (struct mpiio_pool_ahead){.memory = memory};
    ahead->most = most < MPIIO_POOL_AHEAD_QUEUE ? (unsigned)most : MPIIO_POOL_AHEAD_QUEUE;
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->changed, NULL);
}

/* Waits, with lock held, and gives back memory when it was long. */
static void await_block(struct mpiio_pool_ahead *ahead)
{
    assert(mpiio_is_held(&ahead->lock));
    if (mpiio_wait_until(&ahead->changed, &ahead->lock, mpiio_clock() + IDLE))
        return;
    pthread_mutex_unlock(&ahead->lock);
    mpiio_pool_memory_trim(ahead->memory, IDLE);
    pthread_mutex_lock(&ahead->lock);
}

/* Waits for a block that is wanted. False: none will be any more. */
static bool next(struct mpiio_pool_ahead *ahead, int64_t *number)
{
    bool found;

    pthread_mutex_lock(&ahead->lock);
    while (!ahead->stop && ahead->count == 0)
        await_block(ahead);
    found = !ahead->stop;
    if (found) {
        *number = ahead->queue[ahead->first];
        ahead->first = (ahead->first + 1) % MPIIO_POOL_AHEAD_QUEUE;
        ahead->count--;
    }
    pthread_mutex_unlock(&ahead->lock);
    return found;
}

static void *run_ahead(void *data)
{
    struct mpiio_pool_ahead *ahead = data;
    struct mpiio_pool_memory *memory = ahead->memory;
    struct mpiio_pool_version version;
    struct mpiio_pool_block *block;
    int64_t number;
    bool fresh;

    while (next(ahead, &number)) {
        if (!memory->file.look(memory->file.data, NULL, &version) ||
            number >= (version.size + MPIIO_POOL_BLOCK - 1) / MPIIO_POOL_BLOCK ||
            mpiio_pool_memory_has(memory, number, &version))
            continue;
        block = mpiio_pool_memory_get(memory, number, &version, &fresh);
        if (block == NULL)
            continue;
        mpiio_pool_memory_put(memory, block);
        pthread_mutex_lock(&ahead->lock);
        ahead->blocks += fresh;
        pthread_mutex_unlock(&ahead->lock);
    }
    return NULL;
}

int mpiio_pool_ahead_start(struct mpiio_pool_ahead *ahead)
{
    int error = 0;

    while (ahead->threads < MPIIO_POOL_AHEAD_THREADS && error == 0) {
        error = mpiio_thread_start(&ahead->thread[ahead->threads], run_ahead, ahead);
        ahead->threads += error == 0;
    }
    return error;
}

void mpiio_pool_ahead_destroy(struct mpiio_pool_ahead *ahead)
{
    pthread_mutex_lock(&ahead->lock);
    ahead->stop = true;
    pthread_cond_broadcast(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
    while (ahead->threads > 0)
        pthread_join(ahead->thread[--ahead->threads], NULL);
    pthread_cond_destroy(&ahead->changed);
    pthread_mutex_destroy(&ahead->lock);
}

static bool is_wanted(const struct mpiio_pool_ahead *ahead, int64_t number)
{
    for (unsigned i = 0; i < ahead->count; i++)
        if (ahead->queue[(ahead->first + i) % MPIIO_POOL_AHEAD_QUEUE] == number)
            return true;
    return false;
}

void mpiio_pool_ahead_want(struct mpiio_pool_ahead *ahead, const int64_t *blocks, size_t count)
{
    pthread_mutex_lock(&ahead->lock);
    for (size_t i = 0; i < count && ahead->count < ahead->most; i++)
        if (!is_wanted(ahead, blocks[i]))
            ahead->queue[(ahead->first + ahead->count++) % MPIIO_POOL_AHEAD_QUEUE] = blocks[i];
    pthread_cond_broadcast(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
}

uint64_t mpiio_pool_ahead_blocks(struct mpiio_pool_ahead *ahead)
{
    return MPIIO_LOCKED(&ahead->lock, ahead->blocks);
}
