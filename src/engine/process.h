/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_PROCESS_H
#define ENGINE_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "collective.h"

/* The engine's environment and its parent processes. All functions are local, except
   engine_leave. */

/*
 * Prepares the process; call it before MPI_Init. It closes inherited descriptors, so that the mount
 * does not keep the caller's files open. It keeps 0, 1, 2 and the descriptor of the process
 * manager. It disables MPI's asynchronous progress thread, because an engine is idle between
 * epochs. It makes Open MPI use ROMIO, unless the environment overrides that: Open MPI's own MPI-IO
 * makes writes truly collective and has no hints to prevent that.
 */
void engine_environment_prepare(void);

/* Returns the name of the MPI that the program is built with: "MPICH" (or compatible), "Open
   MPI". */
const char *engine_environment_mpi(void);

/* Returns the rank that the process starter has assigned, or -1 if it is unknown. */
int engine_environment_rank(void);

/* Returns the number of processes that the starter has started, or -1 if it is unknown. */
int engine_environment_size(void);

/* Prints the line "STAGE NODE" for the program that waits for the nodes. Does nothing if node is
   -1. */
void engine_report(const char *stage, int node);

/*
 * Continues in a child process, which becomes the engine. It is for a manager that kills the
 * descendants of a process as soon as that process exits, and signals only that process (Slurm with
 * control groups). The parent waits until the engine and its daemon have exited, in either order,
 * and exits with the engine's status. It forwards the signals that make a daemon unmount (SIGTERM,
 * SIGINT, SIGHUP). If that fails, it returns in the same process. Call it before MPI_Init, while
 * there is one thread.
 */
void engine_stay(void);

/* From now on, the engine forwards these signals to its daemon, and does not exit because of
   them. */
void engine_stay_on(pid_t daemon);

/*
 * Ends the process with a status, instead of calling MPI_Finalize. Over TCP, MPICH's MPI_Finalize
 * hangs if processes do not call it at the same time: the first ones wait for the others and no
 * longer answer them (MPI 3.1, 8.7, requires it to return). All that matters is done by then. With
 * other libraries, and if MPICH uses another protocol with mpiexec, it calls MPI_Finalize.
 * Collective: all messages must have been received. If a process has failed, and mpiexec does not
 * end the others, they exit after ten seconds. Does not return.
 */
_Noreturn void engine_leave(struct engine_collective *group, int status);

/*
 * Makes this process exit with that status within ten seconds, whatever it waits for. Call it
 * before collective calls of MPI that other processes may not reach.
 */
void engine_leave_soon(int status);

#endif
