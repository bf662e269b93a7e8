/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POINTERS_REQUEST_H
#define MPIIO_POINTERS_REQUEST_H

#include <stdint.h>

#include "record.h"
#include "state.h"

enum mpiio_request_kind {
    MPIIO_REQUEST_GET, /* view */
    MPIIO_REQUEST_TAKE,
    MPIIO_REQUEST_SET,   /* view, count: the new position */
    MPIIO_REQUEST_OPEN,  /* view, count: a rank, which opens its next contribution */
    MPIIO_REQUEST_OVER,  /* view, share: finishes at its turn */
    MPIIO_REQUEST_LEAVE, /* this node leaves (turns.h) */
    MPIIO_REQUEST_EXIT,  /* this node exits */
};

/* A call of a user of the pointers, and its answer. Its functions are in pointers.h. */
struct mpiio_request {
    enum mpiio_request_kind kind;
    size_t view;
    uint64_t share;
    int64_t count, limit;

    int64_t result; /* or a negative errno */
    int64_t position;
    uint64_t turn; /* whose turn it is in the view afterwards */
    bool done;
    struct mpiio_request *next;
};

/*
 * Answers a request of this node in a state that is up to date, and applies the entry that the
 * request adds to the record, if any. Returns 1 if there is an entry, 0 if there is none, or a
 * negative errno.
 */
int mpiio_request_apply(struct mpiio_state *state, struct mpiio_request *request,
                        struct mpiio_entry *entry);

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
