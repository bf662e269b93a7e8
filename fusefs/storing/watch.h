/* SPDX-License-Identifier: MIT */
#ifndef FS_WATCH_H
#define FS_WATCH_H

#include "core/base/progress.h"

struct fs_cluster;

/*
 * A daemon's watch over its engine: a process that may be stopped, be killed, or wait for others
 * that it does not reach.
 */

/* Ends it; when this returns it does not write to the file any more. */
void fs_watch_kill(const struct fs_cluster *cluster);

/*
 * Waits until the engine has something to say. -ETIMEDOUT: it was stopped for timeout ms, which
 * makes a silent node a dead one; its daemon is alive and well, so nobody else would notice.
 */
int fs_watch_await(const struct fs_cluster *cluster, int timeout);

/* How far it has come. One that is stopped does not wait for others. */
void fs_watch_progress(const struct fs_cluster *cluster, struct mpiio_progress *progress);

#endif
