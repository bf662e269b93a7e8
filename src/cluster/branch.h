/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_BRANCH_H
#define MPIIO_BRANCH_H

#include "roster.h"

/*
 * A node and those that are below it, as the one above sees them: as one. What comes from above
 * goes on to all of them; what they answer is collected, and goes up when it is complete. The
 * thread's.
 */

/* It is this node itself, or its connection is open. NULL is allowed: false. */
bool mpiio_branch_lives(const struct mpiio_peers *peers, const struct mpiio_peer *peer);

/* To a node below, or to this one itself. */
void mpiio_branch_say(struct mpiio_peers *peers, struct mpiio_peer *peer,
                      const struct mpiio_peer_frame *frame);

/* To all that live. */
void mpiio_branch_broadcast(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame);

/* To the node above. Of no effect where there is none. */
void mpiio_branch_pass_on(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame);

/*
 * Begins to wait for an answer of each. One whose connection has ended will not give it, and what
 * is waited for is never complete: all but MPIIO_AWAIT_FENCED, for which those that live count.
 */
void mpiio_branch_expect(struct mpiio_peers *peers, struct mpiio_round *round,
                         enum mpiio_awaited what);

/* Takes an answer, if it was awaited: true. status: 0, or a negative errno of node. */
bool mpiio_branch_answer(struct mpiio_round *round, struct mpiio_peer *peer,
                         enum mpiio_awaited what, int status, uint32_t node);

#endif
