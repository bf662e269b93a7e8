/* SPDX-License-Identifier: MIT */
#ifndef FS_POOL_H
#define FS_POOL_H

#include <stddef.h>

#include "core/file/source.h"
#include "members_version.h"
#include "pool/pool.h"

struct fs_session;

/*
 * The mount's part of the pool (pool/pool.h): the version of the shared file, the pool's memory,
 * and the other nodes. The pool keeps no data of a file that is being changed or flushed. Homes
 * store the flushed blocks, so their machines have them in the page cache, from where they read
 * them into the pool.
 */
struct fs_pool {
    struct mpiio_reader reader;        /* must be the first member */
    struct fs_session *session;        /* borrowed */
    struct mpiio_pool *pool;           /* NULL: the mount has no pool */
    struct fs_members_version members; /* of an assembled file; initialized with the pool */
};

/*
 * Creates the pool that the options describe. The store must be open and not in use yet. Returns 0
 * or a negative errno. The caller calls fs_pool_free in either case.
 */
int fs_pool_init(struct fs_session *session);
void fs_pool_free(struct fs_pool *pool);

/*
 * Connects the pool to the other nodes. Call it once the cluster knows the homes of blocks. Returns
 * 0 or a negative errno.
 */
int fs_pool_meet(struct fs_session *session);

/* Starts the pool's threads, after any fork. Returns 0 or a negative errno. */
int fs_pool_start(struct fs_pool *pool);

/* Makes reads that begin after this call see changes made by others. Thread-safe. */
void fs_pool_look_again(struct fs_pool *pool);

/*
 * Makes this node read everything by itself, because another node has failed. Does not wait.
 * Thread-safe.
 */
void fs_pool_alone(struct fs_pool *pool);

#endif
