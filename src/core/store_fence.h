/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_STORE_FENCE_H
#define MPIIO_STORE_FENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "store.h"

/*
 * The fence between an engine that stores and nodes that go on without it: a lock on one byte of
 * the file, far beyond any data. An engine holds it, shared with the other engines, during each
 * store, from before it checks its lease (clock.h) until the store has finished. A node that will
 * store alone first acquires it once, exclusively. So a store that has begun under a lease ends
 * before that, and one that begins later finds the lease expired.
 *
 * An engine never waits for the lock. If another program's lock conflicts, or the filesystem has no
 * locks, the lease alone counts.
 */
#define MPIIO_STORE_FENCE_BYTE ((int64_t)1 << 62)

/* Opens an engine's own description of the file at path, for the lock. Returns -1 on failure. */
int mpiio_store_fence_open(const char *path);

/* Tries to acquire the lock. Returns false if that is not possible now. Async-signal-safe, like
   its release. */
bool mpiio_store_fence_enter(int fd);
void mpiio_store_fence_leave(int fd);

/*
 * Waits for up to timeout ms until no engine of any node is in a store. Returns 0 then, and also if
 * the filesystem has no locks or the file is not writable. Returns -ETIMEDOUT if an engine still is
 * in a store, or another program has a lock on the whole file; or another negative errno. Calls
 * wait(argument) once if it must wait.
 */
int mpiio_store_fence_await(struct mpiio_store *store, int timeout, void (*wait)(void *argument),
                            void *argument);

#endif
