/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_LISTENER_H
#define MPIIO_LISTENER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "handshake.h"

/* The maximum number of threads of a listener, and of strangers: connections that have not
   proved themselves yet. */
#define MPIIO_LISTENER_THREADS   4
#define MPIIO_LISTENER_STRANGERS 64

TAILQ_HEAD(mpiio_sessions, mpiio_session);

/* Callbacks of a listener. Any of its threads may call them, without a lock. */
struct mpiio_listener_calls {
    /*
     * Takes ownership of fd, a connection for the tree that has proved itself. The callee closes
     * it, or answers it from any thread by mpiio_handshake_answer. handshake and join are borrowed
     * for the call. NULL: no node may join (-EOPNOTSUPP).
     */
    void (*join)(void *tree, int fd, const struct mpiio_handshake *handshake,
                 const struct mpiio_join *join);
    /* Reports that the listener has refused a connection of any purpose, at most once a second;
       error is a negative errno. May be NULL. */
    void (*refused)(void *tree, int error);
    void *tree; /* the argument of both */

    /*
     * Receives a request that has begun to arrive on fd, and answers it. desk is memory of the
     * calling thread. Returns false to have the listener close fd. NULL: nothing is served
     * (-EOPNOTSUPP).
     */
    bool (*serve)(void *pool, void *desk, int fd);
    void *pool;  /* the argument of serve */
    int threads; /* number of threads, from 1 to MPIIO_LISTENER_THREADS */
    size_t desk; /* bytes of memory for each thread, uninitialized */
};

/*
 * Accepts connections of other nodes' daemons on one port, verifies that they know the token
 * (handshake.h), and passes each on by its purpose.
 *
 * No thread waits for a stranger, and a stranger has no effect. A stranger is closed after 5 s, or
 * after 1 s if there are MPIIO_LISTENER_STRANGERS of them while more wait in the kernel. The
 * threads sleep until data arrives. They wake up every 100 ms while there are strangers, else every
 * 10 s. If more than most connections are served, the idle one that was served least recently is
 * closed.
 */
struct mpiio_listener {
    struct mpiio_listener_calls calls;
    int node, nodes;
    unsigned most; /* connections to serve at a time; 0: unlimited */
    uint8_t token[MPIIO_TOKEN_BYTES];
    int listens; /* the listening socket; -1: none */
    int poll, wake;
    int threads;
    pthread_t thread[MPIIO_LISTENER_THREADS];

    pthread_mutex_t lock;
    bool over;        /* closed; guarded by lock, as all members below */
    bool waiting;     /* connections wait in the kernel because there is no room */
    int64_t reported; /* mpiio_clock: when a refusal was reported last */
    struct mpiio_sessions strangers,
        /* in the order in which they were accepted, or last served */
        served;
    unsigned stranger_count, served_count; /* without those that were shut down */
};

/* Initializes the listener of a node, without a socket. */
void mpiio_listener_init(struct mpiio_listener *listener, int node, int nodes, unsigned most);

/* Takes ownership of fd, a listening socket, also on failure. Returns 0 or a negative errno. */
int mpiio_listener_open(struct mpiio_listener *listener, int fd);

/* Starts the threads. Copies token and calls. Call once, after any fork. Returns 0 or a negative
   errno. After an error some threads may run. Does nothing without a socket. */
int mpiio_listener_start(struct mpiio_listener *listener, const uint8_t token[MPIIO_TOKEN_BYTES],
                         const struct mpiio_listener_calls *calls);

/* Shuts down the socket and all connections except those that the join callback owns. Returns at
   once. Thread-safe; may be called repeatedly. */
void mpiio_listener_end(struct mpiio_listener *listener);

/* Ends as mpiio_listener_end, and joins the threads: no callback runs afterwards. May be called
   repeatedly. */
void mpiio_listener_stop(struct mpiio_listener *listener);

/* Stops, closes all descriptors and frees. */
void mpiio_listener_destroy(struct mpiio_listener *listener);

#endif
