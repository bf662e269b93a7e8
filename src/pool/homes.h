/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POOL_HOMES_H
#define MPIIO_POOL_HOMES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "cluster/handshake_proof.h"
#include "pool.h"

/* Connections to one home, at most: so many requests it may be asked at once. */
#define MPIIO_POOL_LINES 4

/* ms until there is a connection. */
#define MPIIO_POOL_CONNECT 3000

/* A connection to a home, for one thread at a time. */
struct mpiio_pool_line {
    int fd;
    struct mpiio_pool_line *next; /* of the home's; lock: the homes' */
    bool used;                    /* lock: the homes' */
};

struct mpiio_pool_home {
    uint8_t token[MPIIO_TOKEN_BYTES];
    char *addresses; /* owned; empty: it has no pool */
    struct mpiio_pool_line *lines;
    unsigned count;  /* of them, and those that are being made */
    bool connecting; /* one is being made */
    int64_t rests;   /* by mpiio_clock: not asked before, as it did not answer */
};

/*
 * The homes of a group, for a node that asks them. Connections are made when they are needed, and
 * kept. A home that does not answer is left alone for a while.
 */
struct mpiio_pool_homes {
    int node, nodes, timeout;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool over;                                     /* nobody is asked any more; lock: lock */
    struct mpiio_pool_home home[MPIIO_POOL_NODES]; /* but for tokens and addresses: lock: lock */
};

/* 0 or a negative errno. */
int mpiio_pool_homes_init(struct mpiio_pool_homes *homes, int node, int nodes, int timeout);

/* No line is in use. */
void mpiio_pool_homes_destroy(struct mpiio_pool_homes *homes);

/* As mpiio_pool_meet. */
int mpiio_pool_homes_meet(struct mpiio_pool_homes *homes, const char *places, size_t size);

/* Ends all connections: who waits for an answer gets none. Does not wait. Thread-safe. */
void mpiio_pool_homes_end(struct mpiio_pool_homes *homes);

/*
 * A line to a home, for the caller alone until it is put back; NULL: it is not to be asked. Waits
 * while all are used, or while one is made. Thread-safe.
 */
struct mpiio_pool_line *mpiio_pool_homes_get(struct mpiio_pool_homes *homes, int home);

/* good: all that was asked for was answered. Else the line is closed, and the home rests. */
void mpiio_pool_homes_put(struct mpiio_pool_homes *homes, int home, struct mpiio_pool_line *line,
                          bool good);

#endif
