/* SPDX-License-Identifier: MIT */
/*
 * The mount that is to go: found once, and from then on the same one or none. What it is known by
 * is the kernel's: the folder it lies in, held open, its name there, its number and its
 * filesystem's.
 */
#ifndef MPIIO_UMOUNT_MOUNT_H
#define MPIIO_UMOUNT_MOUNT_H

#include "mountinfo.h"

struct umount_mount {
    struct umount_entry entry;
    int parent;     /* the folder that it lies in */
    char name[256]; /* its name there */
};

/*
 * Finds the topmost mount at a path, without a word to whoever serves it. 0, -EINVAL where nothing
 * is mounted there, or another negative errno.
 */
int umount_mount_find(const char *path, struct umount_mount *mount);

/* Its root, a new descriptor (O_PATH); -ESTALE where it is not there any more. */
int umount_mount_open(const struct umount_mount *mount);

/* False once it has been taken away. */
bool umount_mount_is_there(const struct umount_mount *mount);

/*
 * Takes it away as root; lazily: also where it is in use. 0 or a negative errno: -EBUSY, -ESTALE
 * where another thing is in its place.
 */
int umount_mount_detach(const struct umount_mount *mount, bool lazily);

#endif
