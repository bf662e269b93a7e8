/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_STORE_WAIT_H
#define MPIIO_STORE_WAIT_H

#include <stdbool.h>

#include "store.h"

/*
 * Has wait(argument, true) called by a writer that is about to wait for a lock of the file which
 * another program holds, and wait(argument, false) when that wait is over. To be set before slices
 * are used. Not installed.
 */
void mpiio_store_on_wait(struct mpiio_store *store, void (*wait)(void *argument, bool waits),
                         void *argument);

#endif
