/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_TURNS_H
#define MPIIO_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"
#include "heap.h"
#include "lines/lines.h"

/*
 * The shares of "ordered" that are known, and whose turn it is. In a view they are numbered: a
 * share's number is that of its round times the ranks, and its rank. Its turn comes when all before
 * it are over. No I/O; the clock is the caller's, in ms, and so is a lock around all of it.
 *
 * Who keeps the pointers (keeping.h) knows the shares of all nodes, and hands numbers out. Another
 * node knows its own, and those that it was told of. That a turn has come is a fact, whoever tells
 * it: turns only go forward.
 */
struct mpiio_turns_share {
    uint64_t number;
    uint32_t view, node;            /* whose it is */
    bool told;                      /* to all nodes: mpiio_turns_untold */
    struct mpiio_turns_share *next; /* in its bucket */
};

/* A share that was passed over at its turn: its node has ended, or is silent. */
struct mpiio_turns_passed {
    bool any; /* else there is none */
    uint32_t node;
    uint64_t number;
    int64_t position; /* of the pointer then: behind what the share took last */
};

struct mpiio_turns_view {
    uint64_t turn;                    /* that of the share with this number; those below are over */
    struct mpiio_heap shares;         /* those from there on that are known */
    size_t own;                       /* of them, this node's */
    struct mpiio_turns_passed passed; /* mpiio_turns_take_passed */
};

struct mpiio_turns_node {
    bool gone;    /* it has ended: its shares are over when their turn comes */
    bool leaving; /* it opens none any more, and nor does any rank before its shares */
    bool done;    /* it has nothing to place any more */
    bool free;    /* it knows that nobody has */
    size_t held;  /* shares of it that are known */
    int64_t heard;
};

struct mpiio_turns {
    int self, nodes;
    int64_t ranks; /* of each view; 0: there are no shares */
    int patience;  /* ms for which a node may be silent at its turn */
    size_t views;
    const struct mpiio_pointers_value *values; /* of the views' pointers; borrowed */
    struct mpiio_turns_view *view;
    struct mpiio_turns_share **buckets; /* by view and rank */
    size_t room, count;
    struct mpiio_turns_node node[MPIIO_LINES_NODES];
    int64_t looked;   /* when somebody was heard last */
    uint64_t changes; /* how often a turn has come */
};

#define MPIIO_TURNS_NOBODY UINT32_MAX

/* Sets all but self, nodes, ranks, patience, views and values, which are set. 0 or -ENOMEM. */
int mpiio_turns_init(struct mpiio_turns *turns);
void mpiio_turns_free(struct mpiio_turns *turns);

/* For any node. */

/* It is the turn of the share of that number, or a later one. */
void mpiio_turns_learn(struct mpiio_turns *turns, size_t view, uint64_t turn);

/* A share is node's. 0; -ESTALE: it is over, or another node's; -ENOMEM: that is not known now. */
int mpiio_turns_hold(struct mpiio_turns *turns, size_t view, uint64_t number, uint32_t node);

/* For who keeps the pointers. What they say of others follows from all that is known. */

/* A node is heard. Where nobody was for long, this one may have slept: of that time no more than
   half of the patience counts as the others' silence. */
void mpiio_turns_hear(struct mpiio_turns *turns, uint32_t node, int64_t now);

/* All were heard just now: this node has begun to keep the pointers. */
void mpiio_turns_begin(struct mpiio_turns *turns, int64_t now);

/*
 * A node has the next share of a rank: in the round that is under way, or behind those that are
 * known of it. 0 or -ENOMEM.
 */
int mpiio_turns_open(struct mpiio_turns *turns, size_t view, int64_t rank, uint32_t node,
                     uint64_t *number);

/* A node does something at the turn of its share: 0; -ESTALE where it has been passed over. */
int mpiio_turns_use(struct mpiio_turns *turns, size_t view, uint64_t number, uint32_t node);

/* Its share is over, at its turn. One that is over already stays so. */
void mpiio_turns_over(struct mpiio_turns *turns, size_t view, uint64_t number, uint32_t node);

/* Of all views. */
void mpiio_turns_gone(struct mpiio_turns *turns, uint32_t node);
void mpiio_turns_leave(struct mpiio_turns *turns, uint32_t node);

/* Whether a node has shares, and was not heard for so long that it may have ended. */
bool mpiio_turns_misses(const struct mpiio_turns *turns, uint32_t node, int64_t now);

/* Passes over who has the turn of a view and was not heard for the patience, at a time of now. */
void mpiio_turns_pass_silent(struct mpiio_turns *turns, size_t view, int64_t now);

/* The first share that was passed over at its turn in a view since the last call. */
struct mpiio_turns_passed mpiio_turns_take_passed(struct mpiio_turns *turns, size_t view);

/* The node whose turn it is; MPIIO_TURNS_NOBODY: the share is not known, or has not been opened. */
uint32_t mpiio_turns_owner(const struct mpiio_turns *turns, size_t view);

/*
 * A node is done. Returns how many others it is to wait for, and *first of them: those that have
 * shares, or leave and are not done; and who keeps the pointers waits for those that do not know
 * yet that there are none. Who has ended, or was not heard for the patience, is not waited for.
 */
int64_t mpiio_turns_done(struct mpiio_turns *turns, uint32_t node, int64_t now, uint32_t *first);

/*
 * The shares of nodes that are gone of which the others are to be told, and now count as being: how
 * many. *shares is malloc'd where there are any; none now, where there is no memory.
 */
size_t mpiio_turns_untold(struct mpiio_turns *turns, struct mpiio_pointers_share **shares);

#endif
