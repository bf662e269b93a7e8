/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_LINES_H
#define MPIIO_LINES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "cluster/address.h"
#include "cluster/handshake_proof.h"

/* Nodes of a group, at most. */
#define MPIIO_LINES_NODES 128

/* Connections to one other node, at most: so many requests it may be asked at once. */
#define MPIIO_LINES_MAX 4

/* A connection to another node, for one thread at a time. */
struct mpiio_line {
    int fd;
    struct mpiio_line *next; /* of the node's; lock: the lines' */
    bool used;               /* lock: the lines' */
};

struct mpiio_lines_node {
    uint8_t token[MPIIO_TOKEN_BYTES];
    char *addresses; /* owned; empty: it is asked nothing */
    struct mpiio_line *lines;
    unsigned count;  /* of them, and those that are being made */
    bool connecting; /* one is being made */
    bool refused;    /* when one was to be made, nobody listened at any of its addresses */
    bool failed;     /* what it was asked last, or the connection for that, came to nothing */
    int64_t rests;   /* by mpiio_clock: not asked before, as it did not answer */
};

struct mpiio_lines_options {
    struct mpiio_local_address local; /* that connections come from */
    int node, nodes;                  /* this node's number in its group, and how many are in it */
    int timeout;                      /* ms for which one waits for a line while others use all */
    int connect;                      /* ms until there is a connection */
    int rest;                         /* ms for which a node that did not answer is left alone */
};

/*
 * The other nodes of a group, for a node that asks them. Connections are made when they are needed,
 * and kept.
 */
struct mpiio_lines {
    struct mpiio_lines_options options;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool over; /* nobody is asked any more; lock: lock */
    struct mpiio_lines_node
        others[MPIIO_LINES_NODES]; /* but for tokens and addresses: lock: lock */
};

/* Copies options. */
void mpiio_lines_init(struct mpiio_lines *lines, const struct mpiio_lines_options *options);

/* No line is in use. */
void mpiio_lines_destroy(struct mpiio_lines *lines);

/*
 * What the others listen at, by number: of each what its server gave (server.h), a zero byte
 * behind; size bytes. 0 or a negative errno. Once.
 */
int mpiio_lines_meet(struct mpiio_lines *lines, const char *places, size_t size);

/* Ends all connections: who waits for an answer gets none. Does not wait. Thread-safe. */
void mpiio_lines_end(struct mpiio_lines *lines);

/*
 * A line to another node, for the caller alone until it is put back; NULL: it is not to be asked.
 * Waits while all are used, or while one is made. Thread-safe.
 */
struct mpiio_line *mpiio_lines_get(struct mpiio_lines *lines, int other);

/* good: all that was asked for was answered. Else the line is closed, and the node rests. */
void mpiio_lines_put(struct mpiio_lines *lines, int other, struct mpiio_line *line, bool good);

/*
 * True where a node's machine says that its daemon has ended: since the last connection nobody
 * listens at any of its addresses. Thread-safe.
 */
bool mpiio_lines_refused(struct mpiio_lines *lines, int other);

/* True where a node did not answer last time: it may not do so this time. Thread-safe. */
bool mpiio_lines_failed(struct mpiio_lines *lines, int other);

#endif
