/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_TURNS_H
#define MPIIO_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap.h"

/*
 * The open contributions ("shares") to "ordered", and whose turn it is. The contributions of a view
 * are numbered: a number is the round times the ranks, plus the rank. The turn of a contribution
 * comes when all with lower numbers have finished. Turns only go forward.
 *
 * All nodes go through the same states, because they apply the same entries of the record in the
 * same order (state.h). No I/O and no locks.
 */
struct mpiio_turns_share {
    uint64_t number;
    uint32_t view;
    uint32_t node;                  /* the owner */
    struct mpiio_turns_share *next; /* in its bucket */
};

struct mpiio_turns_view {
    uint64_t turn;            /* the number whose turn it is; lower ones have finished */
    struct mpiio_heap shares; /* the open contributions, from turn on */
    size_t own;               /* how many of them are this node's */
};

struct mpiio_turns_node {
    bool leaving; /* nobody waits for ranks that are missing before its contributions */
    bool exited;  /* its contributions are dropped when their turn comes */
    size_t held;  /* its open contributions */
};

struct mpiio_turns {
    int self, nodes;
    int64_t ranks; /* of each view; 0: there are no contributions */
    size_t views;
    struct mpiio_turns_view *view;
    struct mpiio_turns_node *node;
    struct mpiio_turns_share **buckets; /* by view and rank */
    size_t room, count;
    uint64_t changes; /* how often a turn has come */
};

#define MPIIO_TURNS_NOBODY UINT32_MAX

/* Sets everything except self, nodes, ranks and views, which the caller has set. Returns 0 or
   -ENOMEM. */
int mpiio_turns_init(struct mpiio_turns *turns);
void mpiio_turns_free(struct mpiio_turns *turns);

/* Goes back to the first turn of each view, without contributions. */
void mpiio_turns_reset(struct mpiio_turns *turns);

/* Returns the number of a rank's next contribution: in the current round, or behind its open
   ones. */
uint64_t mpiio_turns_next(const struct mpiio_turns *turns, size_t view, int64_t rank);

/* Opens a contribution of a node. Returns 0; -ENOMEM; or -EPROTO if its turn is over, or another
   one has the number. */
int mpiio_turns_open(struct mpiio_turns *turns, size_t view, uint64_t number, uint32_t node);

/* Sets the turn of a view, unless it is further on. All contributions before it have finished, or
   are dropped. */
void mpiio_turns_advance(struct mpiio_turns *turns, size_t view, uint64_t turn);

/* The node leaves: ranks that are missing before its contributions are skipped. */
void mpiio_turns_leave(struct mpiio_turns *turns, uint32_t node);

/* The node has exited: its contributions are dropped when their turn comes. */
void mpiio_turns_exit(struct mpiio_turns *turns, uint32_t node);

/* Returns the node whose turn it is; MPIIO_TURNS_NOBODY: its rank has not opened yet. */
uint32_t mpiio_turns_owner(const struct mpiio_turns *turns, size_t view);

#endif
