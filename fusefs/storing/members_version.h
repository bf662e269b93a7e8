/* SPDX-License-Identifier: MIT */
#ifndef FS_MEMBERS_VERSION_H
#define FS_MEMBERS_VERSION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fusefs/names/version.h"
#include "pool/memory.h"

struct fs_settling;

/*
 * The version of a file that is assembled from members, for the pool (pool/memory.h). To ask all of
 * them upon every read would take longer than reading: what was found stays for a second, unless
 * this mount writes to one, a slice is opened or synced, a flush is over, or another node has found
 * something else.
 */
struct fs_members_version {
    pthread_mutex_t lock;
    atomic_bool again; /* it is to be looked at before it is used again */
    /* The lock protects the rest. It is held while members are looked at, but not during the wait
       for their writers. */
    struct fs_version version; /* as it was sampled last */
    uint64_t samples;          /* their number so far */
    bool settled;              /* the version is */
    bool unproved;             /* it is settled if its writers have returned, which is not known */
    uint64_t digest, epoch, writes;
    int64_t looked; /* when, by mpiio_clock; 0: never */
};

void fs_members_version_init(struct fs_members_version *self);
void fs_members_version_destroy(struct fs_members_version *self);

/*
 * As struct mpiio_pool_file has it; the epoch is in version already. Waits as fs_settling_await
 * does. Thread-safe.
 */
bool fs_members_version_look(struct fs_members_version *self, struct fs_settling *settling,
                             const struct mpiio_pool_version *seen,
                             struct mpiio_pool_version *version);

#endif
