/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_RENEWAL_H
#define MPIIO_RENEWAL_H

#include "roster.h"

/*
 * The lease by which this node's engine stores. The thread's.
 *
 * What counts is not when a peer's words are read, which may have waited while this process was
 * stopped, but what they answer: a peer that echoes a heartbeat had heard it, and takes its sender
 * for dead only when it has heard nothing for peer_timeout from then on. As all act when one does,
 * a peer promises more than that: for how long after the heartbeat came nobody on its side of the
 * connection, which is all that it is connected with but the one it tells, takes anybody for dead.
 * So a lease runs out before anybody at all does. Clocks are not compared: a promise is a time from
 * when something was sent, by the clock of who sent it, and from when it came, by that of who got
 * it; and that is later.
 */

/* Sends a heartbeat to each node below, or to the one above. */
void mpiio_renewal_beat_below(struct mpiio_peers *peers);
void mpiio_renewal_beat_above(struct mpiio_peers *peers);

/* A peer's heartbeat has come. 0, or -EPROTO: it echoes what was never sent. */
int mpiio_renewal_receive(struct mpiio_peers *peers, struct mpiio_peer *peer,
                          const struct mpiio_peer_frame *frame);

/* Renews this node's lease as far as its peers promise; takes it away. */
void mpiio_renewal_update(struct mpiio_peers *peers);
void mpiio_renewal_revoke(struct mpiio_peers *peers);

#endif
