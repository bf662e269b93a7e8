/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_COLLECTIVE_H
#define ENGINE_COLLECTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mpi.h>

#include "bells.h"
#include "core/base/progress.h"

/*
 * What the engines say to each other, in an epoch and when they begin and end. MPI's own collective
 * calls tell nobody whom they wait for, and use a processor while they do. These are made of
 * messages between two nodes each: who waits is seen in the memory shared with the daemon
 * (progress.h), and sleeps until a bell rings (bells.h), or ever longer up to a millisecond. All
 * are collective. A node that is not reached is waited for until the daemon, which finds out with
 * the others, ends this process: so nothing is returned.
 */
struct engine_collective {
    MPI_Comm comm; /* of these messages alone */
    int node, nodes;
    struct mpiio_progress_page unseen; /* for as long as no daemon looks */
    struct mpiio_progress_page *page;  /* borrowed, or that */
    struct engine_bells bells;
    MPI_Request *requests;
    int *peers; /* of each: the node, or that node negated less one where it is sent to */
    int *done;  /* and statuses: of MPI_Testsome */
    MPI_Status *statuses;
    int count, room;
    bool unannounced; /* some of these messages come without a ring */
    int broken;       /* the message that could not be sent or received; -1: none */
};

/*
 * For as long as the process is there, at one place. Aborts where there is no memory: such a node
 * cannot take part, nor tell anybody.
 */
void engine_collective_init(struct engine_collective *self, MPI_Comm comm);

/* Where a daemon is to see it from now on; NULL: none does. Not collective. */
void engine_collective_show(struct engine_collective *self, struct mpiio_progress_page *page);

/* Makes each of count values, 4 at most, the largest of all nodes'. */
void engine_collective_max(struct engine_collective *self, int64_t *values, int count);

/* The worst of the nodes' errors, each 0 or a negative errno. */
int engine_collective_error(struct engine_collective *self, int error);

/* Waits until all nodes have come. */
void engine_collective_join(struct engine_collective *self);

/* Has all nodes have what the node from has in bytes. */
void engine_collective_share(struct engine_collective *self, void *bytes, size_t length, int from);

/* Parts of a buffer, one of each node: counts and starts are in units of the same size. */
struct engine_parts {
    void *bytes;
    const int *counts, *starts;
};

/* Sends each node its part of out, and gets its part of in from each; size: of a unit, in bytes. */
void engine_collective_exchange(struct engine_collective *self, const struct engine_parts *out,
                                const struct engine_parts *in, size_t size);

/*
 * Sends each node its one of ints, and gets one of each. Takes log2(nodes) steps; what is sent is
 * as much as is not 0.
 */
void engine_collective_transpose(struct engine_collective *self, const int *out, int *in);

#endif
