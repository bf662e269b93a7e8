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
 * The version of an assembled file, for the pool (pool/memory.h). Checking all members on every
 * read would take longer than the read. So a sample is used for a second, unless this mount writes
 * to a member, a slice is opened or synced, a flush ends, or another node has seen another version.
 */
struct fs_members_version {
    pthread_mutex_t lock;
    atomic_bool again; /* sample again before the next use */
    /*
     * Protects the fields below. It is held while members are sampled, but not during the wait for
     * their writers.
     */
    struct fs_version version; /* the last sample */
    uint64_t samples;          /* number of samples */
    bool settled;              /* version is settled */
    bool unproved;             /* it is unknown whether the writers of version have returned */
    uint64_t digest, epoch, writes;
    int64_t looked; /* time of the last sample, by mpiio_clock; 0: never */
};

void fs_members_version_init(struct fs_members_version *self);
void fs_members_version_destroy(struct fs_members_version *self);

/*
 * Implements look of struct mpiio_pool_file; version->epoch must be set. Waits as fs_settling_await
 * does. Thread-safe.
 */
bool fs_members_version_look(struct fs_members_version *self, struct fs_settling *settling,
                             const struct mpiio_pool_version *seen,
                             struct mpiio_pool_version *version);

#endif
