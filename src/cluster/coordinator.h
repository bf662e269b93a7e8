/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_COORDINATOR_H
#define MPIIO_COORDINATOR_H

#include "roster.h"

/* What only node 0 does: it decides when nodes do something together. The thread's. */

/* What node says. 0 or -EPROTO. */
int mpiio_coordinator_receive(struct mpiio_peers *peers, struct mpiio_peer *peer,
                              const struct mpiio_peer_frame *frame);

/* A node's connection has failed, or it is silent. */
void mpiio_coordinator_lost(struct mpiio_peers *peers, struct mpiio_peer *peer, const char *why);

/* All have joined: tells them. */
void mpiio_coordinator_ready(struct mpiio_peers *peers);

/* Does what time has come for. */
void mpiio_coordinator_tick(struct mpiio_peers *peers, int64_t now);

/* When it must be called next, at most before. */
int64_t mpiio_coordinator_next(const struct mpiio_peers *peers, int64_t before);

#endif
