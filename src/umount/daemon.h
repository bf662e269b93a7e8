/* SPDX-License-Identifier: MIT */
/*
 * The daemon behind a mount: a process of the user who mounted that has the mount's connection to
 * the kernel (/dev/fuse) open. It is held by a descriptor: its number may become another's.
 */
#ifndef MPIIO_UMOUNT_DAEMON_H
#define MPIIO_UMOUNT_DAEMON_H

#include <stdbool.h>
#include <stdint.h>

#include "mounts/mount.h"

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

#endif
