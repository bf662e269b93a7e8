/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POINTERS_REQUEST_H
#define MPIIO_POINTERS_REQUEST_H

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

#endif
