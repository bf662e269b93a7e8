/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_UMOUNT_ENDING_H
#define MPIIO_UMOUNT_ENDING_H

#include <stdbool.h>
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
 * Returns the number of lost bytes, or -1 if it is not known. If the daemon has not reported it,
 * because it is still running or was killed, sets unreported and returns the number of bytes of
 * "ordered" that were waiting for their turn.
 */
int64_t umount_ending_lost(int fd, bool *unreported);

#endif
