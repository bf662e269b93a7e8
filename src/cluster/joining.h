/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_JOINING_H
#define MPIIO_JOINING_H

#include "roster.h"

/* How all come together: each node says so once all that are below it have joined. The thread's. */

/* Nobody may be missing here: says so, or at node 0 that all are there. */
void mpiio_joining_look(struct mpiio_peers *peers);

/* JOINED, from a node below. */
void mpiio_joining_on_joined(struct mpiio_peers *peers, struct mpiio_peer *peer, bool complete);

/* A node below is not connected any more, before all are there. It may come back. */
void mpiio_joining_left(struct mpiio_peers *peers, struct mpiio_peer *peer, const char *why);

/* READY, from above: 0, or -EPROTO where this node has not said that all below it are there. */
int mpiio_joining_ready(struct mpiio_peers *peers);

#endif
