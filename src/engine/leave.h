/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_LEAVE_H
#define ENGINE_LEAVE_H

#include "collective.h"

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
