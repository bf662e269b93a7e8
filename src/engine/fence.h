/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_FENCE_H
#define ENGINE_FENCE_H

#include "core/base/clock.h"
#include "cluster/engine_channel.h"

/*
 * Fencing: keeps an engine from storing for a node that other nodes have declared failed. Each
 * store to the file is between enter and leave. Inside, the engine has the lock of store_layers.h,
 * if the filesystem supports it, and the node's lease has not expired. If the lease has expired,
 * the engine waits until the daemon renews it or ends the engine. A process that was stopped checks
 * its lease before it does anything else. A process has one fence.
 */
struct engine_fence {
    const struct mpiio_lease *lease; /* borrowed */
    int daemon;                      /* the channel's socket, borrowed */
    int file;                        /* for the lock; -1: no lock */
};

/*
 * Call the first before any thread starts, and the second when no library will start threads any
 * longer. The signal that resumes a stopped process must reach the thread that stores.
 */
void engine_fence_hold_signal(void);
void engine_fence_take_signal(void);

/* Sets up the fence for the file at path. lease and daemon are borrowed. This function and the
   following ones are local. */
void engine_fence_open(struct engine_fence *fence, const char *path,
                       const struct mpiio_lease *lease, const struct mpiio_channel *daemon);
void engine_fence_close(struct engine_fence *fence);

void engine_fence_enter(struct engine_fence *fence);
void engine_fence_leave(struct engine_fence *fence);

/* Checks the lease; call it inside the fence before storing more. fence is a struct
   engine_fence. */
void engine_fence_check(void *fence);

#endif
