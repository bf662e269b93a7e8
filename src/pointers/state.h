/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POINTERS_STATE_H
#define MPIIO_POINTERS_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "turns.h"

/*
 * The state of all shared file pointers of a mount: the position of each view, the turns of
 * "ordered", and which nodes have exited. It is what the entries of the record (record.h) say:
 * nodes that have applied the same entries are in the same state. No I/O and no locks.
 */

enum mpiio_entry_kind {
    MPIIO_ENTRY_POSITION = 1, /* view, value: the pointer has moved there */
    MPIIO_ENTRY_OPEN,         /* view, value: a contribution of the node is open */
    MPIIO_ENTRY_TURN,         /* view, value: it is the turn of that contribution */
    MPIIO_ENTRY_LEAVE, /* node: ranks that are missing before its contributions are skipped */
    MPIIO_ENTRY_EXIT,  /* node: its contributions are dropped; it never comes back */
};

struct mpiio_entry {
    enum mpiio_entry_kind kind;
    uint32_t node;
    uint32_t view;
    uint64_t value;
};

struct mpiio_state {
    size_t views;
    const int64_t *start; /* by view: the first position; borrowed */
    int64_t *position;    /* by view, in etypes */
    struct mpiio_turns turns;
};

/* Sets the state before the first entry; self is this node's number. start is borrowed. Returns 0
   or -ENOMEM. */
int mpiio_state_init(struct mpiio_state *state, size_t views, const int64_t *start, int self,
                     int nodes, int64_t ranks);
void mpiio_state_free(struct mpiio_state *state);

/* Goes back to the state before the first entry. */
void mpiio_state_reset(struct mpiio_state *state);

/* Applies an entry. Returns 0, -ENOMEM, or -EPROTO if no node would have written it in this
   state. */
int mpiio_state_apply(struct mpiio_state *state, const struct mpiio_entry *entry);

/* Returns the entries, *count of them, that lead from the first state to this one: a snapshot,
   which the caller frees by free(). NULL without memory. */
struct mpiio_entry *mpiio_state_snapshot(const struct mpiio_state *state, size_t *count);

#endif
