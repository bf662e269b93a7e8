/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_FENCE_H
#define ENGINE_FENCE_H

#include "core/base/clock.h"
#include "cluster/engine_channel.h"

/*
 * What keeps an engine from storing for a node that the others take for dead. Each store of the
 * file is between enter and leave: it has the lock of store_fence.h where that is to be had, and
 * the node's lease has not run out. Where it has, the engine waits: until the daemon has renewed
 * it, or ends the engine. A process that was stopped meanwhile looks at its lease before it does
 * anything else. There is one fence in a process.
 */
struct engine_fence {
    const struct mpiio_lease *lease; /* borrowed */
    int daemon;                      /* the channel's socket, borrowed */
    int file;                        /* for the lock; -1: there is none */
};

/*
 * To be called before anybody may start a thread, and once no library will any more: the signal
 * that wakes a stopped process must come to the thread that stores.
 */
void engine_fence_hold_signal(void);
void engine_fence_take_signal(void);

/* Sets it up for the file at path; the rest is borrowed. Local, like all that follows. */
void engine_fence_open(struct engine_fence *fence, const char *path,
                       const struct mpiio_lease *lease, const struct mpiio_channel *daemon);
void engine_fence_close(struct engine_fence *fence);

void engine_fence_enter(struct engine_fence *fence);
void engine_fence_leave(struct engine_fence *fence);

/* Inside: before more is stored. fence: a struct engine_fence. */
void engine_fence_check(void *fence);

#endif
