/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_CAPABILITY_H
#define MPIIO_CAPABILITY_H

#include <stdbool.h>

/* Capabilities of the calling thread, capabilities(7); CAP_ numbers are those of Linux. */

/* Returns true if the capability is in the thread's effective set. */
bool mpiio_capability_has(int capability);

/*
 * Removes CAP_FSETID from the thread's effective set. Threads that it creates later inherit that;
 * programs that it executes as root do not. From then on the kernel clears the set-user-ID and
 * set-group-ID bits of each file that the thread writes to, as it does for any other writer.
 */
void mpiio_capability_drop_fsetid(void);

#endif
