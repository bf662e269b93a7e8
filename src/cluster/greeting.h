/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_GREETING_H
#define MPIIO_GREETING_H

#include "roster.h"

/*
 * How a connection becomes a node: each side proves that it knows the token. The thread's, unless
 * it is said.
 */

/* Accepts new connections, and asks them to prove themselves. */
void mpiio_greet(struct mpiio_peers *peers);

/* A connection that has not joined has something to say, or failed. */
void mpiio_greeted(struct mpiio_peers *peers, struct mpiio_peer *peer);

/* Drops connections that have not joined in time. */
void mpiio_greet_expire(struct mpiio_peers *peers, int64_t now);

/* Stops listening, and drops all that have not joined. May be repeated. */
void mpiio_greet_end(struct mpiio_peers *peers);

/*
 * The other side: connects with the node above, and joins, within timeout ms. Blocks; before the
 * thread is started.
 */
int mpiio_greet_join(struct mpiio_peers *peers, const char *addresses, int64_t timeout);

#endif
