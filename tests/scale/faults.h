/* SPDX-License-Identifier: MIT */
#ifndef SCALE_FAULTS_H
#define SCALE_FAULTS_H

#include <stdbool.h>

/*
 * Faults of nodes and of their connections. A run has one kind of fault (run.fault). A run of MIXED
 * has several, with random kinds, nodes and times.
 */

/* Makes the next fault happen to the node that sends a message now, or to another one. */
void faults_happen(int node);

/* Draws the numbers of nodes and faults, the fan-out, and peer_timeout for a run of MIXED. */
void faults_draw(void);

#endif
