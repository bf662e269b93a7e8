/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_TURN_H
#define MPIIO_TURN_H

#include "roster.h"

/*
 * What a node does with what has come and with time that has passed, in turns: all that the nodes
 * say to each other comes from here, with no system call but those of its connections and the
 * clocks. The thread's.
 */

/* All that must be connected before the first turn is. */
void mpiio_turn_begin(struct mpiio_peers *peers);

/* When the process has looked at its connections, and before what has come is heard. */
void mpiio_turn_look(struct mpiio_peers *peers);

/* Takes what is complete in peer->link.in. */
void mpiio_turn_hear(struct mpiio_peers *peers, struct mpiio_peer *peer);

/* Does what is due. False: this node leaves, and mpiio_turn_end is due. */
bool mpiio_turn(struct mpiio_peers *peers);

/* When the next turn is due at the latest, mpiio_clock. */
int64_t mpiio_turn_next(const struct mpiio_peers *peers);

/* Closes all connections, and tells the daemon that it is alone, or that it is the end. */
void mpiio_turn_end(struct mpiio_peers *peers);

#endif
