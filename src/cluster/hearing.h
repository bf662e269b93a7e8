/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_HEARING_H
#define MPIIO_HEARING_H

#include "roster.h"

/* What is said to a node, and who sees to it. The thread's. */

/* What a node below says, or this one itself. 0 or -EPROTO. */
int mpiio_hearing_below(struct mpiio_peers *peers, struct mpiio_peer *peer,
                        const struct mpiio_peer_frame *frame);

/*
 * What the node above says: all frames in queue. lost: nothing will follow. What begins new work is
 * passed over if the same breath says that it is over. 0 or -EPROTO.
 */
int mpiio_hearing_above(struct mpiio_peers *peers, struct mpiio_queue *queue, bool lost);

#endif
