/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_STORE_FENCE_H
#define MPIIO_STORE_FENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "store.h"

/*
 * The fence between an engine that stores and nodes that go on without it: a lock on one byte of
 * the file, far behind any data. An engine has it, shared with the other engines, during each
 * store, from before it looks at its lease (clock.h) until the store is over; whoever is to store
 * alone first gets it for a moment, exclusively. So a store that has begun under a lease ends
 * before, and one that has not finds the lease run out.
 *
 * An engine never waits for the lock: where another program's lock is in the way, or the filesystem
 * has none, the lease alone counts.
 */
#define MPIIO_STORE_FENCE_BYTE ((int64_t)1 << 62)

/* An engine's own description of the file at path, for the lock: -1 where there can be none. */
int mpiio_store_fence_open(const char *path);

/* Tries to get the lock; false: not now. Async-signal-safe, like its release. */
bool mpiio_store_fence_enter(int fd);
void mpiio_store_fence_leave(int fd);

/*
 * Waits until no engine of any node is in a store, up to timeout ms. 0, also where the filesystem
 * has no locks or the file cannot be written to; -ETIMEDOUT: one still is, or another program has a
 * lock on the whole file; or another negative errno. wait(argument) is called once, when it has to
 * wait.
 */
int mpiio_store_fence_await(struct mpiio_store *store, int timeout, void (*wait)(void *argument),
                            void *argument);

#endif
