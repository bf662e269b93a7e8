/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_MEMBER_H
#define MPIIO_MEMBER_H

#include "roster.h"

/* What each node, node 0 too, does with what it is told. The thread's. */

/*
 * What the node tells itself, as it was told from above, or decided: all that is in its inbox. What
 * begins new work is passed over if the same breath says that it is over. 0 or -EPROTO.
 */
int mpiio_member_receive(struct mpiio_peers *peers);

/*
 * Fences this node, the first time. Its engine goes first, before anything else is done or said: it
 * must not write over what daemons store once they are alone.
 */
void mpiio_member_degrade(struct mpiio_peers *peers, int node, const char *host, const char *why);

/* True if a frame in queue says that this node must be fenced. */
bool mpiio_member_is_fenced_by(const struct mpiio_queue *queue);

/* A frame that begins new work. */
bool mpiio_member_begins_work(enum mpiio_peer_frame_type type);

#endif
