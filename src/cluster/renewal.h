/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_RENEWAL_H
#define MPIIO_RENEWAL_H

#include "roster.h"

/* The lease by which this node's engine stores. The thread's. */

/* Sends a heartbeat to a peer. */
void mpiio_renewal_beat(struct mpiio_peers *peers, struct mpiio_peer *peer);

/* A peer's heartbeat has come. 0, or -EPROTO: it echoes what was never sent. */
int mpiio_renewal_receive(struct mpiio_peers *peers, struct mpiio_peer *peer,
                          const struct mpiio_peer_frame *frame);

/* Renews this node's lease as far as its peers have heard of it; takes it away. */
void mpiio_renewal_update(struct mpiio_peers *peers);
void mpiio_renewal_revoke(struct mpiio_peers *peers);

#endif
