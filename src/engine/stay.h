/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_STAY_H
#define ENGINE_STAY_H

#include <sys/types.h>

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

#endif
