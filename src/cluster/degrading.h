/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_DEGRADING_H
#define MPIIO_DEGRADING_H

#include "roster.h"

/*
 * Death: what is lost is told to node 0, and by it to all. They end their engines, each node says
 * so once all below it have, and node 0 then lets all go on alone. Where the node above is lost,
 * a node does as node 0 for those below it, which the others cannot hear any more. The thread's.
 */

/* Of node 0, or as it has told: somebody is dead. */
void mpiio_degrading_begin(struct mpiio_peers *peers, int node, const char *host, const char *why);

/* From below, or of this node: LOST and FENCED. */
void mpiio_degrading_on_lost(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame);
void mpiio_degrading_on_fenced(struct mpiio_peers *peers, struct mpiio_peer *peer);

/* From above: GO. */
void mpiio_degrading_go(struct mpiio_peers *peers);

/* A connection has failed, or is silent: to a node below, or to the one above. */
void mpiio_degrading_lost_below(struct mpiio_peers *peers, struct mpiio_peer *peer,
                                const char *why);
void mpiio_degrading_lost_above(struct mpiio_peers *peers, const char *why);

/* Does what time has come for; when that is, at most before. */
void mpiio_degrading_tick(struct mpiio_peers *peers, int64_t now);
int64_t mpiio_degrading_next(const struct mpiio_peers *peers, int64_t before);

#endif
