/* SPDX-License-Identifier: MIT */
/*
 * Looks into a mount. Whoever serves it may be hostile: a child looks, as the user who mounted,
 * whom it serves as nothing else; he cannot trace it or take its descriptors. What comes of it is
 * bounded in time and length, and to be believed in nothing that he could not do himself.
 */
#ifndef MPIIO_MOUNTS_LOOK_H
#define MPIIO_MOUNTS_LOOK_H

#include "child.h"
#include "mount.h"

/* Less than a pipe holds: a child that has an answer ends. */
#define MOUNTS_TEXT_MAX (60 << 10)

/* A look at a mount that is under way. */
struct mounts_look {
    struct mounts_child child;
};

/*
 * Starts to read .mpiio/stats.json of the mount of type fuse.mpiio at a place of the kernel's
 * table. 0 or a negative errno. Either of the next two ends the look.
 */
int mounts_look_start(struct mounts_look *look, const char *place);

/* -EINPROGRESS, or what has become of it, as mounts_look_stats returns it. Does not wait. */
int mounts_look_take(struct mounts_look *look, char *text);

/* Gives it up: a child that the mount keeps is left behind. */
void mounts_look_abandon(struct mounts_look *look);

/*
 * Each: 0 or a negative errno, also whatever the mount answers; -ETIMEDOUT after limit ms, -ESTALE
 * where the mount is there no more. text has MOUNTS_TEXT_MAX bytes, and ends with a NUL.
 */

/* What .mpiio/stats.json tells. */
int mounts_look_stats(const struct mounts_mount *mount, int limit, char *text);

/* The value of an attribute of the root. */
int mounts_look_attribute(const struct mounts_mount *mount, const char *name, int limit,
                          char *text);

/* An fsync of the root: all that was written there is stored. */
int mounts_look_sync(const struct mounts_mount *mount, int limit);

#endif
