/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_ENVIRONMENT_H
#define ENGINE_ENVIRONMENT_H

#include <stdbool.h>

/* What the engine is started with, and who waits for it. All local. */

/*
 * To be called before MPI begins. Closes what whoever has started mpiexec had open, so that nothing
 * of it is held for as long as the mount is there: but for 0, 1, 2, and the descriptor over which
 * MPI is told of its processes. Has MPI start no thread that makes progress all the time: an engine
 * is idle but for its epochs; and has Open MPI use ROMIO, unless the environment says otherwise:
 * the writes of its own MPI-IO are collective in earnest, and know no hints that forbid it.
 */
void engine_environment_prepare(void);

/* The MPI that the program is built with: "MPICH" (or one with its interface), "Open MPI". */
const char *engine_environment_mpi(void);

/* The number that the process is to have in MPI, as its starter has said; -1: it has not. */
int engine_environment_rank(void);

/* How many processes its starter has started, as it has said; -1: it has not. */
int engine_environment_size(void);

/*
 * Whether MPI talks to its process manager by PMI_FD, in lines of PMI, version 1: as MPICH does
 * unless it was built for something else, or is told to use it. After MPI has begun.
 */
bool engine_environment_speaks_pmi1(void);

/* Prints the line "STAGE NODE", for whom waits for the nodes; nothing where node is -1. */
void engine_report(const char *stage, int node);

#endif
