/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_PROCESS_H
#define ENGINE_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "collective.h"

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

/* Prints the line "STAGE NODE", for whom waits for the nodes; nothing where node is -1. */
void engine_report(const char *stage, int node);

/*
 * For a manager that kills what a process has left behind as soon as that one has ended, and has
 * signals for that one alone (Slurm, with control groups): returns in a child, which is the engine
 * from then on. This process waits until the engine and its daemon have ended, in whichever order,
 * and then ends with the engine's status. The signals that have a daemon unmount (SIGTERM, SIGINT,
 * SIGHUP) it hands on. Where there can be no child, it returns as it is. To be called before
 * MPI_Init, while there is one thread.
 */
void engine_stay(void);

/* The engine hands these signals on to its daemon from now on, and does not end by them. */
void engine_stay_on(pid_t daemon);

/*
 * Ends the process with a status, in place of MPI_Finalize: over TCP, MPICH's hangs where the
 * processes do not come to it at the same moment, for who is early waits for the others and no
 * longer answers them (MPI 3.1, 8.7, has it return). All that matters is done by then. Other
 * libraries, and MPICH where it speaks another language with mpiexec, have their MPI_Finalize.
 * Collective: nothing that was sent is still to be received. Where a process is lost, and
 * mpiexec does not end the others, they take ten seconds. Does not return.
 */
_Noreturn void engine_leave(struct engine_collective *group, int status);

/*
 * What follows is the end: this process ends with that status within ten seconds, whatever it waits
 * for. To be called before collective calls of MPI that some may not come to, or not be reached in.
 */
void engine_leave_soon(int status);

#endif
