/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POINTERS_WATCH_H
#define MPIIO_POINTERS_WATCH_H

#include <stdint.h>

#include "record.h"

struct mpiio_watch_node {
    uint64_t beats; /* its heartbeat counter */
    int64_t since;  /* since when it has not changed, mpiio_lease_clock() */
};

/*
 * Failure detection among nodes that wait for each other's turns. A node with open contributions
 * advances its heartbeat counter. If another node waits for it, and sees that its process has
 * exited or that its counter does not change for twice the timeout, it drops the contribution
 * that keeps it waiting: it appends the next turn to the record, under the record's lock. The owner
 * finds that entry before it does anything else with the record, so no other fence is needed.
 *
 * Used by one thread.
 */
struct mpiio_watch {
    struct mpiio_record *record; /* borrowed, like the state */
    struct mpiio_state *state;
    int timeout; /* ms */
    /* Reports a contribution that was dropped at its turn (pointers.h). NULL: nobody is told. */
    void (*passed)(void *data, size_t view, uint64_t share, int node, int64_t position);
    void *data;

    int64_t due;                   /* when to look next, mpiio_lease_clock() */
    int64_t looked;                /* when it was looked last */
    struct mpiio_watch_node *node; /* by number */
};

/* The fields above due are set. Returns 0 or -ENOMEM. */
int mpiio_watch_init(struct mpiio_watch *watch);
void mpiio_watch_free(struct mpiio_watch *watch);

/*
 * If it is time: advances this node's counter, and looks at the nodes whose turn it is in views in
 * which this node has open contributions. The record is open and not locked.
 */
void mpiio_watch_look(struct mpiio_watch *watch);

#endif
