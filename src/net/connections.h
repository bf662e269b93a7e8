/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_CONNECTIONS_H
#define MPIIO_CONNECTIONS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "net.h"

/* The maximum number of connections to one other node, which also limits the threads that send
   requests to it at once. */
#define MPIIO_CONNECTIONS_MAX 4

/* A persistent connection to another node, used by one thread at a time. */
struct mpiio_connection {
    int fd;        /* non-blocking; owned */
    bool answered; /* requests have been answered; guarded by the connections' lock */
    int64_t since; /* mpiio_clock, ms: idle since then; guarded by the connections' lock */
    LIST_ENTRY(mpiio_connection) others; /* to the same node; guarded by the connections' lock */
    bool used;                           /* in use by a thread; guarded by the connections' lock */
};

/* The connections to one other node. All members are guarded by the connections' lock. */
struct mpiio_connections_node {
    LIST_HEAD(, mpiio_connection) connections;
    unsigned count;  /* number of connections, including one that is being made */
    bool connecting; /* a thread is making one */
    int64_t rests;   /* mpiio_clock, ms: no requests before then, because one has failed */
};

/*
 * The connections to all other nodes, for MPIIO_PURPOSE_POOL. A connection is made when it is
 * needed, and kept. If net's options allow no more connections, the least recently used idle
 * connection is closed. If all are in use, mpiio_connections_get fails.
 */
struct mpiio_connections {
    const struct mpiio_net *net; /* borrowed; mpiio_connections_destroy does not use it */
    int nodes;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool over;                             /* mpiio_connections_end was called; guarded by lock */
    unsigned count;                        /* number of connections to all nodes; guarded by lock */
    struct mpiio_connections_node *others; /* by node; guarded by lock */
};

/* Initializes without a connection. Returns 0 or -ENOMEM. */
int mpiio_connections_init(struct mpiio_connections *connections, const struct mpiio_net *net);

/* Closes all connections. None may be in use. */
void mpiio_connections_destroy(struct mpiio_connections *connections);

/* Shuts down all connections, so that requests that wait for an answer end. Afterwards
   mpiio_connections_get returns NULL. Returns at once. Thread-safe; may be called repeatedly. */
void mpiio_connections_end(struct mpiio_connections *connections);

/*
 * Returns a connection to another node for the caller's use until mpiio_connections_put. Returns
 * NULL if the node does not listen, cannot be connected to, or has failed less than net's timeout
 * ago, and after mpiio_connections_end. Also returns NULL if a new connection is required, but
 * net's options allow no more and all are in use. Waits until end (mpiio_clock, ms) for a
 * connection that is in use or being made. Making one takes up to 3 s of that. Thread-safe.
 */
struct mpiio_connection *mpiio_connections_get(struct mpiio_connections *connections, int other,
                                               int64_t end);

/*
 * Returns a connection after use. error is 0 if all its requests were answered, else a negative
 * errno. After an error the connection is closed, and mpiio_connections_get returns NULL for that
 * node for net's timeout. An exception is -ENOTCONN on a connection on which the node has answered
 * before: the node may have closed it to make room for another, so it may be asked again at once.
 * Thread-safe.
 */
void mpiio_connections_put(struct mpiio_connections *connections, int other,
                           struct mpiio_connection *connection, int error);

#endif
