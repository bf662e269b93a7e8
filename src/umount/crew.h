/* SPDX-License-Identifier: MIT */
/*
 * Unmounts many mounts, each by a worker process of its own: a mount that does not answer delays no
 * other one.
 */
#ifndef MPIIO_UMOUNT_CREW_H
#define MPIIO_UMOUNT_CREW_H

#include <stddef.h>

#include "all.h"

/*
 * Unmounts the mounts at places, which are in the order of the kernel's table, the oldest first,
 * and prints the lines of the workers. The newest 1024 mounts are asked at once, and have 10 s to
 * answer. Those that do are unmounted one after the other, the newest first, because a file of one
 * may lie on an older one. After 20 s, the rest is unmounted at once. With force this may take
 * 60 s. Then come the next 1024 mounts, if there are more.
 *
 * Without force there is no limit for storing: a mount that answers and then does not finish an
 * fsync is waited for.
 *
 * Returns the status to exit with: 0, 1 if a mount stays, else UNMOUNT_LOST if data was lost.
 */
int unmount_crew(const struct unmount_all *all, char *const *places, size_t count);

#endif
