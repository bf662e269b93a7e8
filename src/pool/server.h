/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POOL_SERVER_H
#define MPIIO_POOL_SERVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ahead.h"
#include "cluster/handshake_proof.h"
#include "memory.h"

/* Threads that answer; connections that may not have proved themselves yet. */
#define MPIIO_POOL_SERVER_THREADS 4
#define MPIIO_POOL_STRANGERS      64

struct mpiio_pool_caller;

/*
 * A home: answers what other nodes ask for. Its threads sleep until somebody does. A connection is
 * served by one of them at a time, request by request; of one that has not shown that it knows the
 * token nothing is waited for, and the oldest of those go where they are many.
 */
struct mpiio_pool_server {
    struct mpiio_pool_memory *memory; /* borrowed */
    struct mpiio_pool_ahead *ahead;   /* borrowed */
    int node, nodes, timeout;
    uint8_t token[MPIIO_TOKEN_BYTES];
    int listens; /* -1: nobody is answered */
    int poll, wake;
    int threads;
    pthread_t thread[MPIIO_POOL_SERVER_THREADS];
    _Atomic uint64_t sent_bytes;

    pthread_mutex_t lock;
    bool over;                         /* nobody is answered any more; lock: lock */
    struct mpiio_pool_caller *callers; /* the newest first; lock: lock */
    unsigned strangers;                /* of those; lock: lock */
};

/* 0 or a negative errno. */
int mpiio_pool_server_init(struct mpiio_pool_server *server, struct mpiio_pool_memory *memory,
                           struct mpiio_pool_ahead *ahead);

/* Listens: *place, malloc'd, is as mpiio_pool_listen says. Its threads answer from start on. */
int mpiio_pool_server_listen(struct mpiio_pool_server *server, char **place);
int mpiio_pool_server_start(struct mpiio_pool_server *server);

/* Ends all connections; there will be no others. Does not wait. Thread-safe. */
void mpiio_pool_server_end(struct mpiio_pool_server *server);

/* Ends the threads, and frees. */
void mpiio_pool_server_destroy(struct mpiio_pool_server *server);

#endif
