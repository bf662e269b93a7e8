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

/*
 * Unmounts many mounts, each by a worker process of its own: a mount that does not answer delays no
 * other one.
 */

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
