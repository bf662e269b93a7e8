/* SPDX-License-Identifier: MIT */
#ifndef SCALE_FAULTS_H
#define SCALE_FAULTS_H

#include <stdbool.h>

/*
 * Faults of nodes and of their connections. In a run, one kind of fault happens (run.fault). With
 * MIXED there are several, whose kinds, nodes and times are drawn.
 */

/* Has the next fault happen, to the node that sends a message now, or to another one. */
void faults_happen(int node);

/* Draws how many nodes and faults there are in a run of MIXED, the fan-out and peer_timeout. */
void faults_draw(void);

#endif
