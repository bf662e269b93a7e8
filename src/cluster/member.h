/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_MEMBER_H
#define MPIIO_MEMBER_H

#include "roster.h"

/* What each node, node 0 too, does with what the coordinator says. The thread's. */

/*
 * What the coordinator says: all frames in queue. lost: nothing will follow. What begins new work
 * is passed over if the same breath says that it is over. 0 or -EPROTO.
 */
int mpiio_member_receive(struct mpiio_peers *peers, struct mpiio_queue *queue, bool lost);

/* The connection to the coordinator has failed, or it is silent. */
void mpiio_member_lost(struct mpiio_peers *peers, const char *why);

void mpiio_member_tick(struct mpiio_peers *peers, int64_t now);

/* With each heartbeat: says how far the engine has come. */
void mpiio_member_beat(struct mpiio_peers *peers);

#endif
