/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POINTERS_ELECTION_H
#define MPIIO_POINTERS_ELECTION_H

#include "asking.h"

/*
 * Has this node keep the pointers, or go on with it, if enough others agree; timeout: ms for which
 * another one that does not answer is not given up. True: it has a lease. The lock is not held; one
 * thread at a time. A single node needs none of it.
 */
bool mpiio_election_run(struct mpiio_asking *asking, int timeout);

/*
 * Tells all others what this node, which keeps the pointers, has given, and the shares of nodes
 * that have ended: so it is known, too, when who got it is lost, and this node later. told: what
 * they were told before; set. As above.
 */
void mpiio_election_spread(struct mpiio_asking *asking, struct mpiio_pointers_value *told);

#endif
