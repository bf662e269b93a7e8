/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_ENVIRONMENT_H
#define ENGINE_ENVIRONMENT_H

/* What the engine is started with, and who waits for it. All local. */

/*
 * To be called before MPI begins. Closes what whoever has started mpiexec had open, so that nothing
 * of it is held for as long as the mount is there: but for 0, 1, 2, and the descriptor over which
 * MPI is told of its processes. Has MPI start no thread that makes progress all the time: an engine
 * is idle but for its epochs.
 */
void engine_environment_prepare(void);

/* The number that the process is to have in MPI, as its starter has said; -1: it has not. */
int engine_environment_rank(void);

/* Prints the line "STAGE NODE", for whom waits for the nodes; nothing where node is -1. */
void engine_report(const char *stage, int node);

#endif
