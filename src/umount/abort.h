/* SPDX-License-Identifier: MIT */
/*
 * The kernel's control files of a mount's connection. One aborts it. A daemon that waits for an
 * answer of its own mount (state D) does not end by any signal: its connection lives as long as it
 * does, and it waits for the connection. When a connection is aborted, the kernel ends all its
 * requests, which releases the daemon.
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
 * As umount_abort_open, for a file that tells whether the connection has ended. It ends with the
 * last mount of the filesystem, in whichever mount namespace.
 */
int umount_waiting_open(const struct mounts_mount *mount);

/* Returns true if the connection of that descriptor has not ended. False if fd < 0. */
bool umount_is_connected(int fd);

/* Aborts the connection of the descriptor. Does nothing if it has ended, or fd < 0. */
void umount_abort(int fd);

#endif
