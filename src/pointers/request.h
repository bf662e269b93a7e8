/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POINTERS_REQUEST_H
#define MPIIO_POINTERS_REQUEST_H

#include <stdint.h>

#include "record.h"
#include "state.h"

enum mpiio_request_kind {
    MPIIO_REQUEST_GET,   /* view */
    MPIIO_REQUEST_TAKE,  /* view, share, count, limit */
    MPIIO_REQUEST_SET,   /* view, count: the new position */
    MPIIO_REQUEST_OPEN,  /* view, count: the rank that opens its next contribution */
    MPIIO_REQUEST_OVER,  /* view, share: the contribution that finishes at its turn */
    MPIIO_REQUEST_LEAVE, /* this node leaves (state.h) */
    MPIIO_REQUEST_EXIT,  /* this node exits */
};

/* A call of a function of pointers.h, and its result. */
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
 * Handles a request of this node. The state must be up to date. If the request adds an entry to the
 * record, applies it to the state, sets *entry, and returns 1. Returns 0 if it adds none, or a
 * negative errno.
 */
int mpiio_request_apply(struct mpiio_state *state, struct mpiio_request *request,
                        struct mpiio_entry *entry);

/* Returns the result of a request for which the record could not be used. Most errors become -EIO;
   the log has the reason. -ETIMEDOUT: a take that was not granted because of the record's lock. */
int mpiio_request_error(const struct mpiio_request *request, int error);

struct mpiio_watch_node {
    uint64_t beats; /* its heartbeat counter */
    int64_t since;  /* when it was first seen with this value, mpiio_lease_clock(); 0: not seen */
};

/*
 * Failure detection among nodes that wait for each other's turns. A node with open contributions
 * advances its heartbeat counter. So does a node that has left and waits until nobody has any. A
 * node that waits for another node's turn drops that contribution
 * if the owner's process has exited, or if the owner's counter does not change for twice the
 * timeout of the node that waits. It does so under the record's lock, by appending the next turn to
 * the record. The owner reads that entry before it appends anything, so no other fence is needed.
 *
 * One thread uses it.
 */
struct mpiio_watch {
    struct mpiio_record *record; /* borrowed, like the state */
    struct mpiio_state *state;
    int timeout; /* ms: this node's peer_timeout */
    bool all;    /* this node waits for all contributions, and no node opens more */
    /* Reports a contribution that was dropped at its turn (pointers.h). NULL: not reported. */
    void (*dropped)(void *data, size_t view, uint64_t share, int node, bool exited,
                    int64_t position);
    void *data;

    int64_t due;                   /* when the next check is due, mpiio_lease_clock() */
    int64_t looked;                /* when the last check was */
    struct mpiio_watch_node *node; /* by the node's number */
};

/* Initializes a watch. The caller has set the fields above due. Returns 0 or -ENOMEM. */
int mpiio_watch_init(struct mpiio_watch *watch);
void mpiio_watch_free(struct mpiio_watch *watch);

/*
 * If a check is due, advances this node's heartbeat counter, and checks the nodes whose turn it is
 * in views in which this node waits. The record must be open and not locked.
 */
void mpiio_watch_look(struct mpiio_watch *watch);

#endif
