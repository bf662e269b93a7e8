/* SPDX-License-Identifier: MIT */
/*
 * The mount that is to go: found once, and from then on the same one or none. What it is known by
 * is the kernel's: the folder it lies in, held open, its name there, its number and its
 * filesystem's.
 */
#ifndef MPIIO_MOUNTS_MOUNT_H
#define MPIIO_MOUNTS_MOUNT_H

#include "mountinfo.h"

struct mounts_mount {
    struct mounts_entry entry;
    int parent;     /* the folder that it lies in */
    char name[256]; /* its name there */
};

/*
 * Finds the topmost mount at a path, without a word to whoever serves it. 0, -EINVAL where nothing
 * is mounted there, or another negative errno.
 */
int mounts_find(const char *path, struct mounts_mount *mount);

/* Its root, a new descriptor (O_PATH); -ESTALE where it is not there any more. */
int mounts_open(const struct mounts_mount *mount);

/* False once it has been taken away. */
bool mounts_is_there(const struct mounts_mount *mount);

/*
 * Takes it away as root; lazily: also where it is in use. 0 or a negative errno: -EBUSY, -ESTALE
 * where another thing is in its place.
 */
int mounts_detach(const struct mounts_mount *mount, bool lazily);

#endif
