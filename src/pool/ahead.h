/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POOL_AHEAD_H
#define MPIIO_POOL_AHEAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory.h"
#include "viewspec/map.h"

/* Maps that are read one request after another: the last of them that were. */
#define MPIIO_POOL_STREAMS 64

struct mpiio_pool_stream {
    const struct vs_map *map; /* to tell it by alone */
    int64_t next;             /* the position behind what was read */
    int64_t told;             /* and behind what is to be read ahead by now */
};

struct mpiio_pool_streams {
    int64_t block; /* bytes of a block; set before requests are noted */
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

/* Threads that read ahead, and blocks that wait for it at most. */
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
    bool stop;                             /* lock: lock, as for what follows */
    int64_t queue[MPIIO_POOL_AHEAD_QUEUE]; /* numbers of blocks, a ring */
    unsigned first, count, most;
    uint64_t blocks; /* that were read */
};

void mpiio_pool_ahead_init(struct mpiio_pool_ahead *ahead, struct mpiio_pool_memory *memory);
int mpiio_pool_ahead_start(struct mpiio_pool_ahead *ahead);

/* Ends the threads, and frees. */
void mpiio_pool_ahead_destroy(struct mpiio_pool_ahead *ahead);

/* Wants count blocks; what has no room in the queue is not read ahead. Thread-safe. */
void mpiio_pool_ahead_want(struct mpiio_pool_ahead *ahead, const int64_t *blocks, size_t count);

/* Thread-safe. */
uint64_t mpiio_pool_ahead_blocks(struct mpiio_pool_ahead *ahead);

#endif
