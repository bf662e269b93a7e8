/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POOL_STREAMS_H
#define MPIIO_POOL_STREAMS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "viewspec/map.h"

/* Maps that are read one request after another: the last of them that were. */
#define MPIIO_POOL_STREAMS 64

struct mpiio_pool_stream {
    const struct vs_map *map; /* to tell it by alone */
    int64_t next;             /* the position behind what was read */
    int64_t told;             /* and behind what is to be read ahead by now */
};

struct mpiio_pool_streams {
    pthread_mutex_t lock;
    struct mpiio_pool_stream stream[MPIIO_POOL_STREAMS]; /* lock: lock */
    unsigned turn;                                       /* lock: lock */
};

void mpiio_pool_streams_init(struct mpiio_pool_streams *streams);
void mpiio_pool_streams_destroy(struct mpiio_pool_streams *streams);

/*
 * Notes a request. True where it begins at the first position, or goes on where others of the same
 * map were, or nearly: a kernel that reads ahead asks for several at once. Thread-safe.
 */
bool mpiio_pool_streams_pass(struct mpiio_pool_streams *streams, const struct vs_map *map,
                             int64_t position, int64_t length);

/*
 * The blocks that will be wanted behind that request, if it goes on, and were not told before: at
 * most count, in the order of the slice, to blocks. Returns how many. Thread-safe.
 */
size_t mpiio_pool_streams_ahead(struct mpiio_pool_streams *streams, const struct vs_map *map,
                                int64_t position, int64_t length, int64_t *blocks, size_t count);

#endif
