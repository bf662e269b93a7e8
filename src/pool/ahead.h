/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POOL_AHEAD_H
#define MPIIO_POOL_AHEAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory.h"
#include "viewspec/map.h"

/* The number of recently read streams that a node remembers. */
#define MPIIO_POOL_STREAMS 64

struct mpiio_pool_stream {
    const struct vs_map *map; /* identifies the map; not dereferenced */
    int64_t next;             /* the position after the last byte read */
    int64_t requested;        /* the position up to which read-ahead was requested */
};

struct mpiio_pool_streams {
    int64_t block; /* bytes of a block; set before the first request */
    pthread_mutex_t lock;
    struct mpiio_pool_stream stream[MPIIO_POOL_STREAMS]; /* guarded by lock */
    unsigned turn;                                       /* guarded by lock */
};

void mpiio_pool_streams_init(struct mpiio_pool_streams *streams);
void mpiio_pool_streams_destroy(struct mpiio_pool_streams *streams);

/*
 * Records a request. Returns true if it begins at position 0, or near the end of an earlier request
 * of the same map. Near suffices, because a kernel that reads ahead sends several requests at once.
 * Thread-safe.
 */
bool mpiio_pool_streams_pass(struct mpiio_pool_streams *streams, const struct vs_map *map,
                             int64_t position, int64_t length);

/*
 * Predicts the blocks that a stream needs after that request. Stores those that were not returned
 * before in blocks, in slice order, at most count. Returns their number. Thread-safe.
 */
size_t mpiio_pool_streams_ahead(struct mpiio_pool_streams *streams, const struct vs_map *map,
                                int64_t position, int64_t length, int64_t *blocks, size_t count);

/* The number of threads that read ahead, and the maximum number of blocks that wait to be read. */
#define MPIIO_POOL_AHEAD_THREADS 2
#define MPIIO_POOL_AHEAD_QUEUE   32

/* Read-ahead of a home: blocks in the order in which they were wanted. Blocks that are in memory,
   or are being read, are not read again. Memory that was not used for five minutes is freed. */
struct mpiio_pool_ahead {
    struct mpiio_pool_memory *memory; /* borrowed */
    int threads;
    pthread_t thread[MPIIO_POOL_AHEAD_THREADS];

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stop;                             /* guarded by lock, as the following members */
    int64_t queue[MPIIO_POOL_AHEAD_QUEUE]; /* numbers of blocks, a ring */
    unsigned first, count, most;
    uint64_t blocks; /* number of blocks read */
};

void mpiio_pool_ahead_init(struct mpiio_pool_ahead *ahead, struct mpiio_pool_memory *memory);
int mpiio_pool_ahead_start(struct mpiio_pool_ahead *ahead);

/* Stops the threads and frees. */
void mpiio_pool_ahead_destroy(struct mpiio_pool_ahead *ahead);

/* Queues count blocks. Blocks that do not fit in the queue are not read ahead. Thread-safe. */
void mpiio_pool_ahead_want(struct mpiio_pool_ahead *ahead, const int64_t *blocks, size_t count);

/* Returns the number of blocks read ahead. Thread-safe. */
uint64_t mpiio_pool_ahead_blocks(struct mpiio_pool_ahead *ahead);

#endif
