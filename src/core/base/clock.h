/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_CLOCK_H
#define MPIIO_CLOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns ms of a monotonic clock that stops while the machine sleeps. */
int64_t mpiio_clock(void);

/* Waits for condition, with lock held, until mpiio_clock reaches end. Returns false if it has. */
bool mpiio_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t end);

/* Do the same as mpiio_clock and mpiio_wait_until, but in us. */
int64_t mpiio_clock_us(void);
bool mpiio_wait_until_us(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t end);

/*
 * A heartbeat lease: the time until which a node's engine may store. It lies in the memory that the
 * engine shares with its daemon (slots.h). The daemon renews the lease while it knows that the
 * other nodes regard this node as alive (peers.h), and revokes it before it ends the engine. The
 * clock runs while a process is stopped and while the machine sleeps. All functions are thread-safe
 * and async-signal-safe.
 */
struct mpiio_lease {
    _Atomic int64_t until; /* mpiio_lease_clock; 0: never granted, or revoked */
};

/* A lease that never expires, for a mount on one node. */
#define MPIIO_LEASE_FOREVER INT64_MAX

/* Returns ms since the machine was started, > 0: CLOCK_BOOTTIME. */
int64_t mpiio_lease_clock(void);

static inline void mpiio_lease_set(struct mpiio_lease *lease, int64_t until)
{
    atomic_store(&lease->until, until);
}

/* Returns true until the lease expires. */
static inline bool mpiio_lease_holds(const struct mpiio_lease *lease)
{
    return mpiio_lease_clock() < atomic_load(&lease->until);
}

#endif
