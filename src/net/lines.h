/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_LINES_H
#define MPIIO_LINES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "net.h"

/* Connections to one other node, at most: so many requests it may be asked at once. */
#define MPIIO_LINES_MAX 4

/* A connection to another node, for one thread at a time. */
struct mpiio_line {
    int fd;
    int64_t since;           /* by mpiio_clock: unused since then; lock: the lines' */
    struct mpiio_line *next; /* of the node's; lock: the lines' */
    bool used;               /* lock: the lines' */
};

struct mpiio_lines_node {
    struct mpiio_line *lines;
    unsigned count;  /* of them, and those that are being made */
    bool connecting; /* one is being made */
    int64_t rests;   /* by mpiio_clock: not asked before, as it did not answer */
};

/*
 * The other nodes, for a node that asks them. Connections are made when they are needed, and kept.
 * Where there are as many as net's options allow for, the one goes that was used least recently.
 */
struct mpiio_lines {
    const struct mpiio_net *net; /* borrowed; not used any more when the lines are destroyed */
    int nodes;
    enum mpiio_purpose purpose;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool over;                       /* nobody is asked any more; lock: lock */
    unsigned count;                  /* of all; lock: lock */
    struct mpiio_lines_node *others; /* by number; lock: lock */
};

/* No line is made yet. 0 or -ENOMEM. */
int mpiio_lines_init(struct mpiio_lines *lines, const struct mpiio_net *net,
                     enum mpiio_purpose purpose);

/* No line is in use. */
void mpiio_lines_destroy(struct mpiio_lines *lines);

/* Ends all connections: who waits for an answer gets none. Does not wait. Thread-safe. */
void mpiio_lines_end(struct mpiio_lines *lines);

/*
 * A line to another node, for the caller alone until it is put back; NULL: it is not to be asked.
 * Waits while all are used, or while one is made. Thread-safe.
 */
struct mpiio_line *mpiio_lines_get(struct mpiio_lines *lines, int other);

/* good: all that was asked for was answered. Else the line is closed, and the node rests. */
void mpiio_lines_put(struct mpiio_lines *lines, int other, struct mpiio_line *line, bool good);

#endif
