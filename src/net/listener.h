/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_LISTENER_H
#define MPIIO_LISTENER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "handshake.h"

/* Threads that serve, at most; connections at a time that may not have proved themselves yet. */
#define MPIIO_LISTENER_THREADS   4
#define MPIIO_LISTENER_STRANGERS 64

struct mpiio_caller;

/* What becomes of connections. Called from any of the listener's threads, with no lock held. */
struct mpiio_listener_calls {
    /*
     * Takes over a connection for the tree, which has proved itself: mpiio_handshake_answer is due,
     * and may be given by any thread. NULL: nobody may join. tree: its data.
     */
    void (*join)(void *tree, int fd, const struct mpiio_handshake *handshake,
                 const struct mpiio_join *join);
    /* Is told why a connection was refused. May be NULL. */
    void (*refused)(void *tree, int error);
    void *tree;

    /* Takes a request that has begun to come in, and answers. False: the connection is over. NULL:
       nothing is served. pool: its data. */
    bool (*serve)(void *pool, void *desk, int fd);
    void *pool;
    int threads; /* how many serve, from 1 to MPIIO_LISTENER_THREADS */
    size_t desk; /* bytes, that each of them has for itself, and that are not set */
};

/*
 * Accepts the connections of other nodes' daemons at one port, has them prove that they know the
 * token (handshake.h), and passes each on by its purpose. The threads sleep until something comes
 * in. One that has not proved itself is not waited for, has no effect, and goes after five seconds:
 * after one where there are MPIIO_LISTENER_STRANGERS of them, while more wait in the kernel. Of
 * those that are served, the one that was served least recently goes where there are more than
 * most.
 */
struct mpiio_listener {
    struct mpiio_listener_calls calls;
    int node, nodes, timeout;
    unsigned most; /* connections that are served; 0: any number */
    uint8_t token[MPIIO_TOKEN_BYTES];
    int listens; /* -1: nobody can connect */
    int poll, wake;
    int threads;
    pthread_t thread[MPIIO_LISTENER_THREADS];

    pthread_mutex_t lock;
    bool over;                    /* nobody is answered any more; lock: lock, as for what follows */
    bool waiting;                 /* some connections are not accepted yet, for want of room */
    struct mpiio_caller *callers; /* the newest first */
    unsigned strangers, served;   /* of those */
};

/* Makes one of a node that nobody can connect to yet. timeout: ms, for each step of an answer. */
void mpiio_listener_init(struct mpiio_listener *listener, int node, int nodes, int timeout,
                         unsigned most);

/* Takes over a socket that listens. 0 or a negative errno. */
int mpiio_listener_open(struct mpiio_listener *listener, int fd);

/* Starts the threads, after any fork. Once. 0 or a negative errno. */
int mpiio_listener_start(struct mpiio_listener *listener, const uint8_t token[MPIIO_TOKEN_BYTES],
                         const struct mpiio_listener_calls *calls);

/* Ends all connections but those that were passed on; there will be no others. Does not wait.
   Thread-safe; may be repeated. */
void mpiio_listener_end(struct mpiio_listener *listener);

/* The same, and ends the threads: no call is made any more. May be repeated. */
void mpiio_listener_stop(struct mpiio_listener *listener);

/* Stops, and frees. */
void mpiio_listener_destroy(struct mpiio_listener *listener);

#endif
