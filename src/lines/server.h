/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_SERVER_H
#define MPIIO_SERVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/address.h"
#include "cluster/handshake_proof.h"

/* Threads that answer, at most; connections that may not have proved themselves yet. */
#define MPIIO_SERVER_THREADS   4
#define MPIIO_SERVER_STRANGERS 64

struct mpiio_server_caller;

/* What is answered, and how. */
struct mpiio_server_calls {
    int threads; /* how many answer, MPIIO_SERVER_THREADS at most */
    size_t desk; /* bytes, > 0, that each of them has for itself, and that are not set */
    /* A request has begun to come in: takes it, and answers. False: the connection is over. */
    bool (*serve)(void *data, void *desk, int fd);
    void *data; /* its */
};

/*
 * Answers what other nodes ask for. Its threads sleep until somebody does. A connection is
 * served by one of them at a time, request by request; of one that has not shown that it knows the
 * token nothing is waited for, and the oldest of those go where they are many.
 */
struct mpiio_server {
    struct mpiio_server_calls calls;
    int node, nodes, timeout;
    uint8_t token[MPIIO_TOKEN_BYTES];
    int listens; /* -1: nobody is answered */
    int poll, wake;
    int threads;
    pthread_t thread[MPIIO_SERVER_THREADS];

    pthread_mutex_t lock;
    bool over;                           /* nobody is answered any more; lock: lock */
    struct mpiio_server_caller *callers; /* the newest first; lock: lock */
    unsigned strangers;                  /* of those; lock: lock */
};

/* Copies calls. */
void mpiio_server_init(struct mpiio_server *server, const struct mpiio_server_calls *calls);

/* Listens at a local address: *place, malloc'd, is what those who ask must know: the token and the
   addresses. Its threads answer from start on. */
int mpiio_server_listen(struct mpiio_server *server, const struct mpiio_local_address *local,
                        char **place);
int mpiio_server_start(struct mpiio_server *server);

/* Ends all connections; there will be no others. Does not wait. Thread-safe. */
void mpiio_server_end(struct mpiio_server *server);

/* Ends the threads, and frees. */
void mpiio_server_destroy(struct mpiio_server *server);

#endif
