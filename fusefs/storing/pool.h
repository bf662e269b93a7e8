/* SPDX-License-Identifier: MIT */
#ifndef FS_POOL_H
#define FS_POOL_H

#include <stddef.h>

#include "core/file/source.h"
#include "members_version.h"
#include "pool/pool.h"

struct fs_session;

/*
 * The mount's part of the pool (pool/pool.h): what the shared file's version is, how much memory it
 * gets, and who the others are. Of a file that is being changed nothing is kept, nor while a flush
 * is under way: what is flushed is stored by homes, whose machines have it in their page caches,
 * and read from there into their pools.
 */
struct fs_pool {
    struct mpiio_reader reader;        /* the first member */
    struct fs_session *session;        /* borrowed */
    struct mpiio_pool *pool;           /* NULL: the mount has none */
    struct fs_members_version members; /* of an assembled file; set up with the pool */
};

/*
 * Sets it up as the options say; the store is open, and nobody reads it yet. 0 or a negative errno.
 * fs_pool_free is due in either case.
 */
int fs_pool_init(struct fs_session *session);
void fs_pool_free(struct fs_pool *pool);

/* The cluster has met the other nodes, and knows the homes of blocks. 0 or a negative errno. */
int fs_pool_meet(struct fs_session *session);

/* Starts its threads, after any fork. 0 or a negative errno. */
int fs_pool_start(struct fs_pool *pool);

/* What others have changed is to be seen from now on, by reads that begin now. Thread-safe. */
void fs_pool_look_again(struct fs_pool *pool);

/* The nodes are not together any more: all is read by this one. Does not wait; thread-safe. */
void fs_pool_alone(struct fs_pool *pool);

#endif
