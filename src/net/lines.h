/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_LINES_H
#define MPIIO_LINES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "net.h"

/* The maximum number of connections to one other node, which also limits the threads that send
   requests to it at once. */
#define MPIIO_LINES_MAX 4

/* A persistent connection to another node, used by one thread at a time. */
struct mpiio_line {
    int fd;                  /* non-blocking; owned */
    bool answered;           /* requests have been answered; guarded by the lines' lock */
    int64_t since;           /* mpiio_clock, ms: idle since then; guarded by the lines' lock */
    struct mpiio_line *next; /* to the same node; guarded by the lines' lock */
    bool used;               /* in use by a thread; guarded by the lines' lock */
};

/* The lines to one other node. All members are guarded by the lines' lock. */
struct mpiio_lines_node {
    struct mpiio_line *lines;
    unsigned count;  /* number of lines, including one that is being made */
    bool connecting; /* a thread is making one */
    int64_t rests;   /* mpiio_clock, ms: no requests before then, because one has failed */
};

/*
 * The lines to all other nodes. A line is made when it is needed, and kept. If net's options allow
 * no more lines, the least recently used idle line is closed. If all are in use, mpiio_lines_get
 * fails.
 */
struct mpiio_lines {
    const struct mpiio_net *net; /* borrowed; mpiio_lines_destroy does not use it */
    int nodes;
    enum mpiio_purpose purpose;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool over;                       /* mpiio_lines_end was called; guarded by lock */
    unsigned count;                  /* number of lines to all nodes; guarded by lock */
    struct mpiio_lines_node *others; /* by node; guarded by lock */
};

/* Initializes without a line. Returns 0 or -ENOMEM. */
int mpiio_lines_init(struct mpiio_lines *lines, const struct mpiio_net *net,
                     enum mpiio_purpose purpose);

/* Closes all lines. None may be in use. */
void mpiio_lines_destroy(struct mpiio_lines *lines);

/* Shuts down all lines, so that requests that wait for an answer end. Afterwards mpiio_lines_get
   returns NULL. Returns at once. Thread-safe; may be called repeatedly. */
void mpiio_lines_end(struct mpiio_lines *lines);

/*
 * Returns a line to another node for the caller's use until mpiio_lines_put. Returns NULL if the
 * node does not listen, cannot be connected to, or has failed less than net's timeout ago, and
 * after mpiio_lines_end. Also returns NULL if a new line is required, but net's options allow no
 * more and all are in use. Waits until end (mpiio_clock, ms) for a line that is in use or being
 * made. Making one takes up to 3 s of that. Thread-safe.
 */
struct mpiio_line *mpiio_lines_get(struct mpiio_lines *lines, int other, int64_t end);

/*
 * Returns a line after use. error is 0 if all its requests were answered, else a negative errno.
 * After an error the line is closed, and mpiio_lines_get returns NULL for that node for net's
 * timeout. An exception is -ENOTCONN on a line on which the node has answered before: the node may
 * have closed it to make room for another, so it may be asked again at once. Thread-safe.
 */
void mpiio_lines_put(struct mpiio_lines *lines, int other, struct mpiio_line *line, int error);

#endif
