/* SPDX-License-Identifier: MIT */
/*
 * Looks into a mount. Whoever serves it may be hostile: a child looks, as the user who mounted,
 * whom it serves as nothing else; he cannot trace it or take its descriptors. What comes of it is
 * bounded in time and length, and to be believed in nothing that he could not do himself.
 */
#ifndef MPIIO_UMOUNT_LOOK_H
#define MPIIO_UMOUNT_LOOK_H

#include "mount.h"

#define UMOUNT_TEXT_MAX 16384

/*
 * Each: 0 or a negative errno, also whatever the mount answers; -ETIMEDOUT after limit ms, -ESTALE
 * where the mount is there no more. text has UMOUNT_TEXT_MAX bytes, and ends with a NUL.
 */

/* What .mpiio/stats.json tells. */
int umount_look_stats(const struct umount_mount *mount, int limit, char *text);

/* The value of an attribute of the root. */
int umount_look_attribute(const struct umount_mount *mount, const char *name, int limit,
                          char *text);

/* An fsync of the root: all that was written there is stored. */
int umount_look_sync(const struct umount_mount *mount, int limit);

#endif
