/* SPDX-License-Identifier: MIT */
/*
 * The kernel's control files of a mount's connection. One of them aborts the connection. No signal
 * ends a daemon that waits for an answer from its own mount (state D): it waits for the connection,
 * which lives as long as the daemon does. Aborting the connection ends all its requests, which
 * releases the daemon.
 */
#ifndef MPIIO_UMOUNT_ABORT_H
#define MPIIO_UMOUNT_ABORT_H

#include "mounts/mount.h"

/*
 * Opens the kernel's control file of the mount's connection, while the mount exists. Returns a new
 * descriptor, which stands for that connection alone: after it has ended, the descriptor does not
 * reach another connection that gets its number. Errors: -ESTALE if the mount has gone, or another
 * negative errno. A user other than root gets -ENOENT if /sys/fs/fuse/connections is not mounted;
 * root does not need that folder.
 */
int umount_abort_open(const struct mounts_mount *mount);

/*
 * Like umount_abort_open, for the file "waiting", which has a value as long as the connection is
 * alive. The connection ends with the last mount of the filesystem in any mount namespace.
 */
int umount_waiting_open(const struct mounts_mount *mount);

/* Returns true if the connection of that descriptor is alive. Returns false if fd < 0. */
bool umount_is_connected(int fd);

/* Aborts the connection of the descriptor. Does nothing if it has ended, or fd < 0. */
void umount_abort(int fd);

#endif
