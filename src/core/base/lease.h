/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_LEASE_H
#define MPIIO_LEASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A lease: until when a node's engine may store. It lies in the memory that the engine shares with
 * its daemon (slots.h), which renews it as long as the other nodes are known to count this one
 * among them (peers.h), and takes it away when it is to end the engine. Its clock goes on while a
 * process is stopped and while the machine sleeps. All functions are thread-safe and
 * async-signal-safe.
 */
struct mpiio_lease {
    _Atomic int64_t until; /* mpiio_lease_clock; 0: none was given */
};

/* For one that nobody takes away: there is no other node. */
#define MPIIO_LEASE_FOREVER INT64_MAX

/* ms since the machine was started, > 0: CLOCK_BOOTTIME. */
int64_t mpiio_lease_clock(void);

static inline void mpiio_lease_set(struct mpiio_lease *lease, int64_t until)
{
    atomic_store(&lease->until, until);
}

/* True as long as it has not run out. */
static inline bool mpiio_lease_holds(const struct mpiio_lease *lease)
{
    return mpiio_lease_clock() < atomic_load(&lease->until);
}

#endif
