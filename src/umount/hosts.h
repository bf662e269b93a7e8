/* SPDX-License-Identifier: MIT */
/*
 * Unmounting on several hosts at once: an mpiio-umount on each, started as mpiio-mount starts its
 * engines, each by an mpiexec of its own, so that a host that is gone keeps none of the others.
 */
#ifndef MPIIO_UMOUNT_HOSTS_H
#define MPIIO_UMOUNT_HOSTS_H

#include <stdbool.h>

/*
 * list: as --hosts of mpiio-mount takes it. A %n in the mount point is the host's place in the
 * list, from 0. Says what is left, and on which host. Returns the status to exit with.
 */
int unmount_hosts(const char *list, const char *mountpoint, bool force);

#endif
