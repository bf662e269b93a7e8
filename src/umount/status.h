/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_UMOUNT_STATUS_H
#define MPIIO_UMOUNT_STATUS_H

/*
 * The exit statuses are 0, 1 if a mount stays, and this one if all is unmounted, and data was lost
 * or may have been.
 */
#define UNMOUNT_LOST 3

/* Combines the statuses of several mounts. Returns the worse one: 1, then UNMOUNT_LOST, then 0. */
static inline int umount_worse(int one, int other)
{
    return one == 1 || other == 0 ? one : other;
}

#endif
