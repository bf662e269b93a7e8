/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_LINES_H
#define MPIIO_LINES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "net.h"

/* The most connections to one other node, and so the most threads that ask it at once. */
#define MPIIO_LINES_MAX 4

/* A persistent connection to another node, used by one thread at a time. */
struct mpiio_line {
    int fd;                  /* non-blocking; owned */
    bool answered;           /* requests have been answered; lock: the lines' */
    int64_t since;           /* mpiio_clock, ms: unused since then; lock: the lines' */
    struct mpiio_line *next; /* to the same node; lock: the lines' */
    bool used;               /* by a thread; lock: the lines' */
};

/* The lines to one other node. lock: the lines', for all members. */
struct mpiio_lines_node {
    struct mpiio_line *lines;
    unsigned count;  /* lines, including one that is being made */
    bool connecting; /* a thread is making one */
    int64_t rests;   /* mpiio_clock, ms: not asked before then, because a request has failed */
};

/*
 * The lines to all other nodes. A line is made when it is needed, and kept. When net's options
 * allow no more, the idle line that was used least recently is closed. If all are in use,
 * mpiio_lines_get fails.
 */
struct mpiio_lines {
    const struct mpiio_net *net; /* borrowed; mpiio_lines_destroy does not use it */
    int nodes;
    enum mpiio_purpose purpose;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool over;                       /* mpiio_lines_end was called; lock: lock */
    unsigned count;                  /* lines to all nodes; lock: lock */
    struct mpiio_lines_node *others; /* by node; lock: lock */
};

/* Initialises without a line. Returns 0 or -ENOMEM. */
int mpiio_lines_init(struct mpiio_lines *lines, const struct mpiio_net *net,
                     enum mpiio_purpose purpose);

/* Closes all lines. None may be in use. */
void mpiio_lines_destroy(struct mpiio_lines *lines);

/* Shuts down all lines, which ends requests that wait for an answer. Later mpiio_lines_get returns
   NULL. Returns at once. Thread-safe; may be repeated. */
void mpiio_lines_end(struct mpiio_lines *lines);

/*
 * Returns a line to another node for the caller's use until mpiio_lines_put. Returns NULL if the
 * node does not listen, cannot be connected to, or has failed less than net's timeout ago, and
 * after mpiio_lines_end. Also returns NULL if a line is to be made, but net's options allow no more
 * and all are in use. Waits until end (mpiio_clock, ms) for a line that is used or being made;
 * making one takes up to 3 s of that. Thread-safe.
 */
struct mpiio_line *mpiio_lines_get(struct mpiio_lines *lines, int other, int64_t end);

/*
 * Gives a line back. error is 0 if all its requests were answered, else a negative errno; then the
 * line is closed, and mpiio_lines_get returns NULL for that node for net's timeout. After -ENOTCONN
 * the node may be asked again at once if it has answered on that line before: it may have closed
 * the line to make room for another.
 * Thread-safe.
 */
void mpiio_lines_put(struct mpiio_lines *lines, int other, struct mpiio_line *line, int error);

#endif
