/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_UMOUNT_CREW_H
#define MPIIO_UMOUNT_CREW_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Unmounting all that a user has mounted on this host, as the end of a batch job wants it. */

struct unmount_all {
    uid_t owner;    /* whose */
    bool dead_only; /* those only whose daemon has ended */
    bool force;
};

/*
 * Does it, the newest first, and goes on behind one that stays. Returns the status to exit with: 0,
 * 1 where one stays, else UNMOUNT_LOST where data were lost, or may have been.
 */
int unmount_all(const struct unmount_all *all);

#endif
