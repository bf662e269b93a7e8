/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_UMOUNT_CREW_H
#define MPIIO_UMOUNT_CREW_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Unmounting everything that a user has mounted on this host, as at the end of a batch job. */

struct unmount_all {
    uid_t owner;    /* the user whose mounts are unmounted */
    bool dead_only; /* only mounts whose daemon has exited */
    bool force;
};

/*
 * Unmounts the newest mount first, and continues after a failure. Returns the status to exit with:
 * 0, 1 if a mount stays, else UNMOUNT_LOST if data was lost, or may have been.
 */
int unmount_all(const struct unmount_all *all);

#endif
