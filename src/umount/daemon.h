/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_UMOUNT_DAEMON_H
#define MPIIO_UMOUNT_DAEMON_H

#include <stdbool.h>
#include <stdint.h>

#include "mounts/mount.h"

/*
 * The daemon of a mount: a process of the user who mounted that has the mount's connection to the
 * kernel (/dev/fuse) open. A pidfd identifies it, because its pid may be reused.
 */

struct umount_daemon {
    pid_t pid; /* 0: no daemon was found */
    int process;
};

/*
 * Finds the daemon. Kernels before 6.13 do not report which connection a descriptor of /dev/fuse
 * has. There the daemon is the user's mpiio-fused that has the pid hint, or the mount point as its
 * last argument. With named_only this applies to all kernels: the daemon of a mount that has gone
 * may still have a connection, which has ended, with the same number.
 */
void umount_daemon_find(const struct mounts_mount *mount, int64_t hint, bool named_only,
                        struct umount_daemon *daemon);

/* Returns true once the daemon has exited. Waits for ms at most. */
bool umount_daemon_ends_within(const struct umount_daemon *daemon, int ms);

/* Sends a signal to the daemon. Does nothing if it has exited. */
void umount_daemon_signal(const struct umount_daemon *daemon, int signal);

/* The report of a daemon, at its end, of what it could not store (mounts/ending.h). */

/*
 * Opens the daemon's memory for that report. To be called before the mount is detached. Returns a
 * descriptor, which the caller closes, or -1 if there is none. A file that the daemon's user has
 * prepared is not opened instead, and opening does not block.
 */
int umount_ending_open(const struct umount_daemon *daemon);

/*
 * Returns the number of lost bytes, or -1 if it is not known. If the daemon has not reported it,
 * because it is still running or was killed, sets unreported and returns the number of bytes of
 * "ordered" that were waiting for their turn.
 */
int64_t umount_ending_lost(int fd, bool *unreported);

/* Returns a number that grows while the daemon waits for contributions to "ordered", here or on
   other nodes. */
int64_t umount_ending_waits(int fd);

#endif
