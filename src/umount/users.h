/* SPDX-License-Identifier: MIT */
/* Who uses a mount, and who else has one of its filesystem: as far as /proc tells. */
#ifndef MPIIO_UMOUNT_USERS_H
#define MPIIO_UMOUNT_USERS_H

#include "mounts/mount.h"

/* Who has something of it open: "bash (123), od (124)"; empty where nobody is to be seen. */
void umount_users(const struct mounts_mount *mount, char *list, size_t size);

/*
 * Where its filesystem is still mounted, once it is gone from here: "at PLACE", or "in the mount
 * namespace of sleep (45)", a process for each. Empty where none is to be seen.
 */
void umount_copies(const struct mounts_mount *mount, char *list, size_t size);

#endif
