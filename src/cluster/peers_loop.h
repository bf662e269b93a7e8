/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_PEERS_LOOP_H
#define MPIIO_PEERS_LOOP_H

#include "roster.h"

/* The thread that serves the connections of a node (peers.h). */

/* The thread's work: for pthread_create. */
void *mpiio_peers_run(void *peers);

#endif
