/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_UMOUNT_ENDING_H
#define MPIIO_UMOUNT_ENDING_H

#include <stdint.h>

#include "daemon.h"

/* The report of a daemon, at its end, of what it could not store (mounts/ending.h). */

/*
 * Opens the daemon's memory for that report. To be called before the mount is detached. Returns a
 * descriptor, which the caller closes, or -1 if there is none. A file that the daemon's user has
 * prepared is not opened instead, and opening does not block.
 */
int umount_ending_open(const struct umount_daemon *daemon);

/*
 * Returns how many bytes are lost, or -1 if the daemon has not reported it, for example because it
 * was killed.
 */
int64_t umount_ending_lost(int fd);

#endif
