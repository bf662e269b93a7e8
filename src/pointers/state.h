/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POINTERS_STATE_H
#define MPIIO_POINTERS_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/grant.h"
#include "heap.h"

/*
 * The state of all shared file pointers of a mount: the position of each view, the turns of
 * "ordered", and which nodes have exited. The entries of the record (record.h) determine it: nodes
 * that have applied the same entries have the same state. These functions do no I/O and use no
 * locks.
 */

/*
 * The open contributions ("shares") to "ordered", and whose turn it is. The number of a
 * contribution is its round times the number of ranks, plus its rank. The turn of a contribution
 * comes when all contributions of the view with lower numbers have finished, or were dropped or
 * skipped. Turns only advance.
 */
struct mpiio_turns_share {
    uint64_t number;
    uint32_t view;
    uint32_t node;                  /* the owner */
    struct mpiio_turns_share *next; /* in its bucket */
};

struct mpiio_turns_view {
    uint64_t turn;            /* the number whose turn it is */
    struct mpiio_heap shares; /* the open contributions; their numbers are at least turn */
    size_t own;               /* the number of open contributions of this node */
};

struct mpiio_turns_node {
    bool leaving; /* missing ranks before its contributions are skipped */
    bool exited;  /* its contributions are dropped when their turn comes */
    size_t held;  /* the number of its open contributions */
};

struct mpiio_turns {
    int self, nodes;
    int64_t ranks; /* of each view; 0: there are no contributions */
    size_t views;
    struct mpiio_turns_view *view;
    struct mpiio_turns_node *node;
    struct mpiio_turns_share **buckets; /* a hash table, by view and rank */
    size_t room, count;                 /* of buckets, and of open contributions */
    uint64_t changes;                   /* how often the turn of a view has advanced */
};

#define MPIIO_TURNS_NOBODY UINT32_MAX

/* Returns the number of a rank's next contribution. It is in the current round, or in the next one
   if the turn is past the rank; if the rank has open contributions, it is in the round after the
   last of them. */
uint64_t mpiio_turns_next(const struct mpiio_turns *turns, size_t view, int64_t rank);

/* Returns the node whose turn it is, or MPIIO_TURNS_NOBODY if that contribution is not open yet. */
uint32_t mpiio_turns_owner(const struct mpiio_turns *turns, size_t view);

/* Returns true if it is another node's turn in a view. */
bool mpiio_turns_of_others(const struct mpiio_turns *turns);

/* Returns how many turns it takes until a turn of this node comes, in the view where that is
   closest. Views in which it is this node's turn do not count. UINT64_MAX: this node waits for no
   turn. */
uint64_t mpiio_turns_distance(const struct mpiio_turns *turns);

/* Returns the open contribution of a view with the lowest number, or NULL. */
const struct mpiio_turns_share *mpiio_turns_first(const struct mpiio_turns *turns, size_t view);

enum mpiio_entry_kind {
    MPIIO_ENTRY_POSITION = 1, /* view, value: the pointer has moved to value */
    MPIIO_ENTRY_OPEN,         /* view, value: node opens the contribution of that number */
    MPIIO_ENTRY_TURN,         /* view, value: the turn advances to that number, unless it is
                                 already further; lower numbers have finished or are dropped */
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
    _Atomic int64_t *position; /* by view, in etypes */
    _Atomic int64_t *own;      /* position, if this state owns it */
    struct mpiio_turns turns;
};

/*
 * Initializes the state to that before the first entry: all positions are 0. self is this node's
 * number. The positions are in words, or in memory of the state if words is NULL. words is
 * borrowed, must be zeros, and may be changed by other processes (grant.h). Returns 0 or -ENOMEM.
 */
int mpiio_state_init(struct mpiio_state *state, size_t views, _Atomic int64_t *words, int self,
                     int nodes, int64_t ranks);
void mpiio_state_free(struct mpiio_state *state);

/* Resets the state to that before the first entry. */
void mpiio_state_reset(struct mpiio_state *state);

/* Applies an entry. Returns 0, -ENOMEM, or -EPROTO if no correct node writes this entry in this
   state, such as the OPEN of a contribution that is open or whose turn is over. */
int mpiio_state_apply(struct mpiio_state *state, const struct mpiio_entry *entry);

/* Returns a snapshot: *count entries that lead from the initial state to this one. The caller frees
   it with free(). Returns NULL if there is no memory. */
struct mpiio_entry *mpiio_state_snapshot(const struct mpiio_state *state, size_t *count);

#endif
