/* SPDX-License-Identifier: MIT */
#ifndef FS_BELOW_H
#define FS_BELOW_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

/*
 * Paths that a mount would hide from its own daemon. The kernel asks the daemon to look up a name
 * below the mount point: a daemon that opens such a path waits for itself, and no signal ends it.
 */
struct fs_below {
    dev_t device; /* of the folder that is mounted on */
    ino_t inode;
    char path[PATH_MAX]; /* a folder outside of it; empty: none is known yet */
    int folder;          /* that folder, open (O_PATH); -1: none */
};

/*
 * Starts with the folder at mountpoint, on which nothing is mounted yet. Returns 0 or a negative
 * errno.
 */
int fs_below_init(struct fs_below *below, const char *mountpoint);
void fs_below_free(struct fs_below *below);

/*
 * Returns true if the lookup of an absolute path passes through the folder: as a component, by any
 * link, or in any bind mount of it. A path that leads nowhere is followed as far as it leads.
 * Local; one thread.
 */
bool fs_below_has(struct fs_below *below, const char *path);

#endif
