/* SPDX-License-Identifier: MIT */
#include "streams.h"

#include "core/base/thread.h"
#include "memory.h"

/* Positions by which a request may be off from where the one before it ended. */
#define NEARLY ((int64_t)2 << 20)

void mpiio_pool_streams_init(struct mpiio_pool_streams *streams)
{
    *streams = (struct mpiio_pool_streams){.turn = 0};
    pthread_mutex_init(&streams->lock, NULL);
}

void mpiio_pool_streams_destroy(struct mpiio_pool_streams *streams)
{
    pthread_mutex_destroy(&streams->lock);
}

/* Lock held. */
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
        *stream = (struct mpiio_pool_stream){.map = map, .told = position};
    }
    if (position == 0) /* from the beginning again */
        stream->next = stream->told = 0;
    if (position + length > stream->next)
        stream->next = position + length;
    pthread_mutex_unlock(&streams->lock);
    return goes_on;
}

/* The first position behind the block of the one given; -1: there is none. */
static int64_t behind_block(const struct vs_map *map, int64_t position, int64_t *block)
{
    int64_t displacement = vs_map_displacement(map, position);
    int64_t next;

    if (displacement < 0)
        return -1;
    *block = displacement / MPIIO_POOL_BLOCK;
    next = vs_map_lower_bound(map, (*block + 1) * MPIIO_POOL_BLOCK);
    return next > position ? next : -1;
}

size_t mpiio_pool_streams_ahead(struct mpiio_pool_streams *streams, const struct vs_map *map,
                                int64_t position, int64_t length, int64_t *blocks, size_t count)
{
    int64_t end = position + length, told, block;
    struct mpiio_pool_stream *stream;
    size_t found = 0;

    pthread_mutex_lock(&streams->lock);
    stream = find_stream(streams, map, end);
    told = stream != NULL ? stream->told : INT64_MAX;
    pthread_mutex_unlock(&streams->lock);
    for (size_t i = 0; i < count && end >= 0; i++) {
        int64_t next = behind_block(map, end, &block);

        if (next >= 0 && end >= told)
            blocks[found++] = block;
        end = next;
        if (next > told)
            told = next;
    }
    if (found == 0)
        return 0;
    pthread_mutex_lock(&streams->lock);
    stream = find_stream(streams, map, position + length);
    if (stream != NULL && stream->told < told)
        stream->told = told;
    pthread_mutex_unlock(&streams->lock);
    return found;
}
