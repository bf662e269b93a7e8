/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POINTERS_KEEPING_H
#define MPIIO_POINTERS_KEEPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"
#include "given.h"
#include "turns.h"

/*
 * Who keeps the pointers, as one node knows it, and what it answers. No I/O; the clock is the
 * caller's, and so is a lock around all of it.
 *
 * One node keeps the pointers for a term, and gives from them for as long as it has a lease: nodes
 * that are enough (mpiio_keeping_is_enough) have pledged themselves to it, and follow no other one
 * until the lease is over; or until the keeper is known to have ended. In the same breath each
 * tells the latest values that it knows. A node knows what it was given itself, and what a keeper
 * has told it of what that took for its own processes: so what one node that dies was given,
 * or has given, is not given again.
 *
 * The turns of shares (turns.h) are kept with the pointers, and known in the same ways.
 */
struct mpiio_keeping {
    int node, nodes;
    int lease;                           /* ms */
    size_t count;                        /* of pointers */
    struct mpiio_pointers_value *values; /* the latest known; owned by the caller */
    struct mpiio_turns turns;            /* as they are known */
    struct mpiio_given given_to;         /* by who keeps the pointers, as far as is known */
    uint64_t granted;                    /* the last term in which something is known to be given */
    uint64_t term;                       /* the latest known */
    int keeper;                          /* in it, as far as is known */
    int64_t pledged;                     /* until then no other one is followed */
    bool serves;                         /* this node keeps them, for the term */
    int64_t leased;                      /* and until then gives from them */
    bool wanted;                         /* this node is to get a lease, or a new one */
    bool given;                          /* from this node, what not all others know */
};

/* Values and turns are set; node 0 is asked first. A single node keeps them for ever. */
void mpiio_keeping_init(struct mpiio_keeping *keeping, int node, int nodes, int lease);

/* The later of what is known and value is known from now on. */
void mpiio_keeping_learn(struct mpiio_keeping *keeping, size_t pointer,
                         const struct mpiio_pointers_value *value);

/* Answers any request; asking: this node waits for answers of other keepers than request->node. */
void mpiio_keeping_answer(struct mpiio_keeping *keeping,
                          const struct mpiio_pointers_request *request, bool asking, int64_t now,
                          struct mpiio_pointers_answer *answer);

/*
 * This node is to keep the pointers, or to go on: false where it has pledged itself to another one,
 * which has not ended (gone). Else the term for which the others are to be asked.
 */
bool mpiio_keeping_stand(struct mpiio_keeping *keeping, bool gone, int64_t now, uint64_t *term);

/*
 * It still stands for that term, and follows no other one for some time from now on; or false: it
 * has pledged itself to another one, or a later term is known.
 */
bool mpiio_keeping_stays(struct mpiio_keeping *keeping, uint64_t term, int64_t now);

/* Enough nodes have pledged themselves to this one, for that term, after start. */
void mpiio_keeping_elected(struct mpiio_keeping *keeping, uint64_t term, int64_t start);

/* Not enough have: this node is free to follow another one, unless it goes on with a lease. */
void mpiio_keeping_not_elected(struct mpiio_keeping *keeping);

/* A node is in a later term. */
void mpiio_keeping_outdated(struct mpiio_keeping *keeping, uint64_t term);

/*
 * The node from has answered a request of one that keeps the pointers; this one may have, too. What
 * was given in a term that is over counts as not given: MPIIO_POINTERS_BUSY instead.
 */
void mpiio_keeping_got(struct mpiio_keeping *keeping, const struct mpiio_pointers_request *request,
                       int from, struct mpiio_pointers_answer *answer);

/*
 * Whether those that are with us may go on without the others, of which some are known to have
 * ended (gone): more than half of those that have not; or half, with the first of these. Two parts
 * of the nodes that do not reach each other are never both enough.
 */
bool mpiio_keeping_is_enough(const bool *with_us, const bool *gone, int nodes);

#endif
