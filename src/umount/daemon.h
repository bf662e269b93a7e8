/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_UMOUNT_DAEMON_H
#define MPIIO_UMOUNT_DAEMON_H

#include <stdbool.h>
#include <stdint.h>

#include "mounts/mount.h"

/*
 * The daemon behind a mount: a process of the user who mounted that has the mount's connection to
 * the kernel (/dev/fuse) open. It is held by a descriptor: its number may become another's.
 */

struct umount_daemon {
    pid_t pid; /* 0: there is none, as far as is to be seen */
    int process;
};

/*
 * Finds it. Kernels before 6.13 do not tell whose connection is whose: there it is the user's
 * mpiio-fused that has the number hint, or the mount point as its last argument.
 * With named_only all kernels are treated so: the daemon of a mount that has gone may still have a
 * connection, which has ended, of the same number.
 */
void umount_daemon_find(const struct mounts_mount *mount, int64_t hint, bool named_only,
                        struct umount_daemon *daemon);

/* True once it has ended; waits for ms at most. */
bool umount_daemon_ends_within(const struct umount_daemon *daemon, int ms);

/* Sends it a signal; nothing happens where it has ended. */
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

/* Returns a number that changes while the daemon goes on to place bytes of "ordered", or waits for
   other nodes that do. */
int64_t umount_ending_turns(int fd);

#endif
