/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POINTERS_STATE_H
#define MPIIO_POINTERS_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/grant.h"
#include "turns.h"

/*
 * The state of all shared file pointers of a mount: the position of each view, the turns of
 * "ordered", and which nodes have exited. The entries of the record (record.h) determine it: nodes
 * that have applied the same entries have the same state. These functions do no I/O and use no
 * locks.
 */

enum mpiio_entry_kind {
    MPIIO_ENTRY_POSITION = 1, /* view, value: the pointer has moved to value */
    MPIIO_ENTRY_OPEN,         /* view, value: node opens the contribution of that number */
    MPIIO_ENTRY_TURN,         /* view, value: it is the turn of the contribution of that number */
    MPIIO_ENTRY_LEAVE,        /* node: missing ranks before its contributions are skipped */
    MPIIO_ENTRY_EXIT,         /* node: its contributions are dropped; it never comes back */
};

struct mpiio_entry {
    enum mpiio_entry_kind kind;
    uint32_t node;
    uint32_t view;
    uint64_t value;
};

struct mpiio_state {
    size_t views;
    const int64_t *start;      /* by view: the first position; borrowed */
    _Atomic int64_t *position; /* by view, in etypes */
    _Atomic int64_t *own;      /* position, if this state owns it */
    struct mpiio_turns turns;
};

/*
 * Initializes the state to that before the first entry. self is this node's number. The positions
 * are in words, which other processes may move (grant.h), or in memory of the state if words is
 * NULL. start and words are borrowed. Returns 0 or -ENOMEM.
 */
int mpiio_state_init(struct mpiio_state *state, size_t views, const int64_t *start,
                     _Atomic int64_t *words, int self, int nodes, int64_t ranks);
void mpiio_state_free(struct mpiio_state *state);

/* Resets the state to that before the first entry. */
void mpiio_state_reset(struct mpiio_state *state);

/* Applies an entry. Returns 0, -ENOMEM, or -EPROTO if no correct node writes this entry in this
   state. */
int mpiio_state_apply(struct mpiio_state *state, const struct mpiio_entry *entry);

/* Returns a snapshot: *count entries that lead from the initial state to this one. The caller frees
   it with free(). Returns NULL if there is no memory. */
struct mpiio_entry *mpiio_state_snapshot(const struct mpiio_state *state, size_t *count);

#endif
