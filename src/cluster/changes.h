/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_CHANGES_H
#define MPIIO_CHANGES_H

#include "roster.h"

/*
 * Changes: prepared by all, then settled one way or the other by all, then the next one's turn. A
 * node passes one on at a time, for itself and those below in turn. The thread's.
 */

/* From below, or of this node: CHANGE, VOTE and SETTLED. */
void mpiio_changes_on_change(struct mpiio_peers *peers, struct mpiio_peer *peer,
                             const struct mpiio_peer_frame *frame);
void mpiio_changes_on_vote(struct mpiio_peers *peers, struct mpiio_peer *peer, uint64_t number,
                           int status);
void mpiio_changes_on_settled(struct mpiio_peers *peers, struct mpiio_peer *peer, uint64_t number);

/* From above: PREPARE, SETTLE, and the RESULT of a change. */
void mpiio_changes_prepare(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame);
void mpiio_changes_settle(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame);
void mpiio_changes_result(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame);

/* At node 0: gives a change up that is not agreed to in time; when that is, at most before. */
void mpiio_changes_tick(struct mpiio_peers *peers, int64_t now);
int64_t mpiio_changes_next(const struct mpiio_peers *peers, int64_t before);

#endif
