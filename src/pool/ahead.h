/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POOL_AHEAD_H
#define MPIIO_POOL_AHEAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory.h"

/* Threads that read ahead, and blocks that wait for it at most. */
#define MPIIO_POOL_AHEAD_THREADS 2
#define MPIIO_POOL_AHEAD_QUEUE   32

/*
 * What a home reads before it is asked for it: blocks in the order in which they were wanted. What
 * is there, or is being read, is not read again. Memory in which nothing was read for five minutes
 * is given back.
 */
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
