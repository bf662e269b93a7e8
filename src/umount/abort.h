/* SPDX-License-Identifier: MIT */
/*
 * Aborting a mount's connection. A daemon that waits for an answer of its own mount (state D) does
 * not end by any signal: its connection lives as long as it does, and it waits for the connection.
 * The kernel ends all requests of a connection that is aborted, which lets the daemon go.
 */
#ifndef MPIIO_UMOUNT_ABORT_H
#define MPIIO_UMOUNT_ABORT_H

#include "mounts/mount.h"

/*
 * Opens the kernel's control file of the mount's connection, while the mount is there. Returns a
 * new descriptor, which stands for that connection alone: once it has ended, another one that gets
 * its number is not reached by it. -ESTALE where the mount has gone, or another negative errno:
 * -ENOENT for users where /sys/fs/fuse/connections is not mounted; root needs no such place.
 */
int umount_abort_open(const struct mounts_mount *mount);

/* Aborts the connection of the descriptor; nothing happens where it has ended, or fd < 0. */
void umount_abort(int fd);

#endif
