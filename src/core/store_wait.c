/* SPDX-License-Identifier: MIT */
#include "store_wait.h"

#include "store_private.h"

void mpiio_store_on_wait(struct mpiio_store *store, void (*wait)(void *argument, bool waits),
                         void *argument)
{
    store->wait = wait;
    store->wait_argument = argument;
}
