/* SPDX-License-Identifier: MIT */
#ifndef FS_MOUNTED_H
#define FS_MOUNTED_H

#include <sys/types.h>

/* What is mounted at a place already. */
enum fs_mounted {
    FS_MOUNTED_NOT, /* nothing, nothing of ours, or what its daemon has left behind */
    FS_MOUNTED,
    FS_MOUNTED_DEGRADED, /* a node of a cluster that has fallen apart */
};

/*
 * Whether a mount of this program's is at the place, and in which state that is; 2 seconds at most,
 * also where its daemon does not answer. A mount of another user's is asked nothing. To be called
 * before the process has a lock that a child would need.
 */
enum fs_mounted fs_mounted_at(const char *place);

/* The device of what is mounted at the place, as the kernel knows it: no daemon is asked. */
dev_t fs_mounted_device(const char *place);

#endif
