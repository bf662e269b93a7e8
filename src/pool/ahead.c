/* SPDX-License-Identifier: MIT */
#include "pool_private.h"

#include "core/base/clock.h"
#include "core/base/thread.h"

/* Streams of requests. */

/* The maximum distance, in positions, of a request from the end of its stream's previous
   request. */
#define NEARLY ((int64_t)2 << 20)

/* With lock held. */
static struct mpiio_pool_stream *find_stream(struct mpiio_pool_streams *streams,
                                             const struct vs_map *map, int64_t position)
{
    assert(mpiio_is_held(&streams->lock));
    for (int i = 0; i < MPIIO_POOL_STREAMS; i++) {
        struct mpiio_pool_stream *stream = &streams->stream[i];

        if (stream->map == map && position >= stream->next - NEARLY &&
            position <= stream->next + NEARLY)
            return stream;
    }
    return NULL;
}

bool mpiio_pool_streams_pass(struct mpiio_pool_streams *streams, const struct vs_map *map,
                             int64_t position, int64_t length)
{
    struct mpiio_pool_stream *stream;
    bool goes_on;

    pthread_mutex_lock(&streams->lock);
    stream = find_stream(streams, map, position);
    goes_on = position == 0 || stream != NULL;
    if (stream == NULL) {
        stream = &streams->stream[streams->turn++ % MPIIO_POOL_STREAMS];
        *stream = (struct mpiio_pool_stream){.map = map, .requested = position};
    }
    if (position == 0) /* the stream starts again */
        stream->next = stream->requested = 0;
    if (position + length > stream->next)
        stream->next = position + length;
    pthread_mutex_unlock(&streams->lock);
    return goes_on;
}

/* Returns the first position after the block that contains a position, or -1 if there is none. */
static int64_t behind_block(int64_t size, const struct vs_map *map, int64_t position,
                            int64_t *block)
{
    int64_t displacement = vs_map_displacement(map, position);
    int64_t next;

    if (displacement < 0)
        return -1;
    *block = displacement / size;
    next = vs_map_lower_bound(map, (*block + 1) * size);
    return next > position ? next : -1;
}

size_t mpiio_pool_streams_ahead(struct mpiio_pool_streams *streams, int64_t size,
                                const struct vs_map *map, int64_t position, int64_t length,
                                int64_t *blocks, size_t count)
{
    int64_t end = position + length, requested, block;
    struct mpiio_pool_stream *stream;
    size_t found = 0;

    pthread_mutex_lock(&streams->lock);
    stream = find_stream(streams, map, end);
    requested = stream != NULL ? stream->requested : INT64_MAX;
    pthread_mutex_unlock(&streams->lock);
    for (size_t i = 0; i < count && end >= 0; i++) {
        int64_t next = behind_block(size, map, end, &block);

        if (next >= 0 && end >= requested)
            blocks[found++] = block;
        end = next;
        if (next > requested)
            requested = next;
    }
    if (found == 0)
        return 0;
    pthread_mutex_lock(&streams->lock);
    stream = find_stream(streams, map, position + length);
    if (stream != NULL && stream->requested < requested)
        stream->requested = requested;
    pthread_mutex_unlock(&streams->lock);
    return found;
}

/* Reading ahead. */

/* ms after which memory that is not used is freed. */
#define IDLE 300000

void mpiio_pool_ahead_init(struct mpiio_pool_ahead *ahead, struct mpiio_pool_memory *memory)
{
    int64_t most = memory->most / 4;

    *ahead = (struct mpiio_pool_ahead){.memory = memory};
    ahead->most = most < MPIIO_POOL_AHEAD_QUEUE ? (unsigned)most : MPIIO_POOL_AHEAD_QUEUE;
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->changed, NULL);
}

/* Waits for a wanted block. Frees idle memory after a long wait. With lock held. */
static void await_block(struct mpiio_pool_ahead *ahead)
{
    assert(mpiio_is_held(&ahead->lock));
    if (mpiio_wait_until(&ahead->changed, &ahead->lock, mpiio_clock() + IDLE))
        return;
    pthread_mutex_unlock(&ahead->lock);
    mpiio_pool_memory_trim(ahead->memory, IDLE);
    pthread_mutex_lock(&ahead->lock);
}

/* Waits for a wanted block. Returns false once the threads must stop. */
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
            number >= (version.size + memory->size - 1) / memory->size ||
            mpiio_pool_memory_has(memory, number, &version))
            continue;
        block = mpiio_pool_memory_get(memory, number, &version, &fresh);
        if (block == NULL)
            continue;
        mpiio_pool_memory_put(memory, block);
        atomic_fetch_add(&ahead->blocks, fresh);
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
