/* SPDX-License-Identifier: MIT */
#ifndef FS_POOL_H
#define FS_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/file/source.h"
#include "fusefs/names/version.h"
#include "pool/pool.h"

struct fs_session;
struct fs_settling;

/*
 * members_version.c: the version of an assembled file, for the pool. Checking all members on every
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

/*
 * pool.c: the mount's part of the pool (pool/pool.h): the version of the shared file, the pool's
 * memory, and the other nodes. The pool keeps no data of a file that is being changed or flushed.
 * Homes store the flushed blocks, so their machines have them in the page cache, from where they
 * read them into the pool.
 */
struct fs_pool {
    struct mpiio_reader reader;        /* must be the first member */
    struct fs_session *session;        /* borrowed */
    struct mpiio_pool *pool;           /* NULL: the mount has no pool */
    struct fs_members_version members; /* of an assembled file; initialized with the pool */
};

/*
 * Creates the pool that the options describe. The store must be open and not in use yet. Returns an
 * exit status: 0, or 1 after one line on stderr. The caller calls fs_pool_free in either case.
 */
int fs_pool_init(struct fs_session *session);
void fs_pool_free(struct fs_pool *pool);

/* Makes reads that begin after this call see changes made by others. Thread-safe. */
void fs_pool_look_again(struct fs_pool *pool);

#endif
