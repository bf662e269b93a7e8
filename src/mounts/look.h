/* SPDX-License-Identifier: MIT */
/*
 * Looks into a mount. Whoever serves it may be hostile. So a child looks, as the user who mounted;
 * it is of no other use to that user, who cannot trace it or take its descriptors. The answer is
 * bounded in time and length, and must not be trusted with more than that user could do anyway.
 */
#ifndef MPIIO_MOUNTS_LOOK_H
#define MPIIO_MOUNTS_LOOK_H

#include "child.h"
#include "mount.h"

/* Less than a pipe holds, so that a child that has an answer ends. */
#define MOUNTS_TEXT_MAX (60 << 10)

/* A look at a mount that is in progress. */
struct mounts_look {
    struct mounts_child child;
};

/*
 * Starts to read .mpiio/stats.json of the mount of type fuse.mpiio at a place of the kernel's
 * table. Returns 0 or a negative errno. Either of the next two functions ends the look.
 */
int mounts_look_start(struct mounts_look *look, const char *place);

/* Returns -EINPROGRESS, or the result, as mounts_look_stats returns it. Does not wait. */
int mounts_look_take(struct mounts_look *look, char *text);

/* Gives up the look: a child that the mount holds is left behind. */
void mounts_look_abandon(struct mounts_look *look);

/*
 * Each of the following returns 0 or a negative errno, which may be any that the mount answers;
 * -ETIMEDOUT after limit ms, -ESTALE if the mount is gone. text has MOUNTS_TEXT_MAX bytes, and ends
 * with a NUL.
 */

/* Reads .mpiio/stats.json. */
int mounts_look_stats(const struct mounts_mount *mount, int limit, char *text);

/* Reads an attribute of the root. */
int mounts_look_attribute(const struct mounts_mount *mount, const char *name, int limit,
                          char *text);

/* Calls fsync of the root, so that everything that was written there is stored. */
int mounts_look_sync(const struct mounts_mount *mount, int limit);

#endif
