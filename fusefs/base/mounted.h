/* SPDX-License-Identifier: MIT */
#ifndef FS_MOUNTED_H
#define FS_MOUNTED_H

#include <sys/types.h>

/* The kind of mount that a mount point has. */
enum fs_mounted {
    FS_MOUNTED_NOT, /* no mount, a mount of another program, or one whose daemon has exited */
    FS_MOUNTED,
    FS_MOUNTED_DEGRADED, /* one node of a degraded cluster */
};

/*
 * Returns the state of this program's mount at the place. Takes at most 2 seconds, even if its
 * daemon does not answer. Does not ask the daemon of another user's mount. Call it before the
 * process holds a lock that a forked child would need.
 */
enum fs_mounted fs_mounted_at(const char *place);

/* Returns the device number of what is mounted at the place. The kernel answers, not the daemon. */
dev_t fs_mounted_device(const char *place);

#endif
