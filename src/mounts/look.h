/* SPDX-License-Identifier: MIT */
/*
 * Reads from a mount whose daemon may be hostile. A child does so, with the ids of the user who
 * mounted. That user gains nothing by it, and cannot trace the child or take its descriptors. The
 * answer is limited in time and length. Do not trust it with more than that user could do anyway.
 */
#ifndef MPIIO_MOUNTS_LOOK_H
#define MPIIO_MOUNTS_LOOK_H

#include "child.h"
#include "mount.h"

/* Less than the capacity of a pipe, so that a child can write its answer and exit. */
#define MOUNTS_TEXT_MAX (60 << 10)

/*
 * Starts a child that reads .mpiio/stats.json of the mount of type fuse.mpiio at a path of
 * /proc/self/mountinfo. Returns 0 or a negative errno. Ends with a call of mounts_look_take that
 * does not return -EINPROGRESS, or with mounts_child_abandon.
 */
int mounts_look_start(struct mounts_child *child, const char *place);

/* Returns -EINPROGRESS, or the result, as mounts_look_stats does. Does not wait. */
int mounts_look_take(struct mounts_child *child, char *text);

/*
 * Each of the following functions returns 0 or a negative errno, which may be any that the mount
 * returns; -ETIMEDOUT after limit ms; -ESTALE if the mount has gone. text has MOUNTS_TEXT_MAX bytes
 * and is terminated by a NUL.
 */

/* Reads .mpiio/stats.json. */
int mounts_look_stats(const struct mounts_mount *mount, int limit, char *text);

/* Reads an extended attribute of the root. */
int mounts_look_attribute(const struct mounts_mount *mount, const char *name, int limit,
                          char *text);

/* Calls fsync on the root, which stores everything that was written there. */
int mounts_look_sync(const struct mounts_mount *mount, int limit);

#endif
