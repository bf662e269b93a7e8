/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_UMOUNT_ENDING_H
#define MPIIO_UMOUNT_ENDING_H

#include <stdint.h>

#include "daemon.h"

/* What a daemon tells at its end of what it could not store (mounts/ending.h). */

/*
 * Opens the daemon's memory for that, which must be done before the mount is detached. Returns a
 * descriptor, to be closed by the caller, or -1 where there is none. Nothing that the daemon's
 * user has prepared is opened instead, and opening does not block.
 */
int umount_ending_open(const struct umount_daemon *daemon);

/* Returns how many bytes are lost, or -1 if the daemon has not told, for instance since it was
   killed. */
int64_t umount_ending_lost(int fd);

#endif
