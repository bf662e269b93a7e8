/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_UMOUNT_STATUS_H
#define MPIIO_UMOUNT_STATUS_H

/* The statuses to exit with are 0, 1 where a mount stays, and this one where all is unmounted, and
   data were lost, or may have been. */
#define UNMOUNT_LOST 3

/* Returns the status of several mounts, each of which has one of these. */
static inline int umount_worse(int one, int other)
{
    return one == 1 || other == 0 ? one : other;
}

#endif
