/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_TURNS_H
#define MPIIO_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap.h"

/*
 * The open contributions ("shares") to "ordered", and whose turn it is. The number of a
 * contribution is its round times the number of ranks, plus its rank. The turn of a contribution
 * comes when all contributions of the view with lower numbers have finished, or were dropped or
 * skipped. Turns only advance.
 *
 * All nodes go through the same states, because they apply the same entries of the record in the
 * same order (state.h). These functions do no I/O and use no locks.
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

/* Initializes the fields other than self, nodes, ranks and views, which the caller has set. Returns
   0 or -ENOMEM. */
int mpiio_turns_init(struct mpiio_turns *turns);
void mpiio_turns_free(struct mpiio_turns *turns);

/* Resets each view to its first turn, without contributions. */
void mpiio_turns_reset(struct mpiio_turns *turns);

/* Returns the number of a rank's next contribution. It is in the current round, or in the next one
   if the turn is past the rank; if the rank has open contributions, it is in the round after the
   last of them. */
uint64_t mpiio_turns_next(const struct mpiio_turns *turns, size_t view, int64_t rank);

/* Opens a contribution of a node. Returns 0, -ENOMEM, or -EPROTO if its turn is over or a
   contribution with that number is open. */
int mpiio_turns_open(struct mpiio_turns *turns, size_t view, uint64_t number, uint32_t node);

/* Advances the turn of a view, unless it is already further. All contributions with lower numbers
   have finished or are dropped. */
void mpiio_turns_advance(struct mpiio_turns *turns, size_t view, uint64_t turn);

/* Marks a node as leaving: missing ranks before its contributions are skipped. */
void mpiio_turns_leave(struct mpiio_turns *turns, uint32_t node);

/* Marks a node as exited: its contributions are dropped when their turn comes. */
void mpiio_turns_exit(struct mpiio_turns *turns, uint32_t node);

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

#endif
