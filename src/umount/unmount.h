/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_UMOUNT_UNMOUNT_H
#define MPIIO_UMOUNT_UNMOUNT_H

#include <stdbool.h>

#include "daemon.h"
#include "mounts/mount.h"

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

/* Unmounting, step by step, and what is said of it. */

struct unmount {
    const char *mountpoint; /* as it was given */
    const char *hosts;      /* to do it on; NULL: here */
    bool force;
    bool alone; /* this node only */
    const uid_t
        *owner;     /* one of all his mounts: another's, or none, is left without a word; or NULL */
    bool dead_only; /* unmount it only if nobody serves it */
    struct mounts_mount mount;
    struct umount_daemon daemon;
    int abort;     /* with force: a descriptor that aborts its connection, or < 0 */
    int waiting;   /* without force: a descriptor for umount_is_connected, or < 0 */
    int ending;    /* the descriptor of its last report (daemon.h), or < 0 */
    bool dead;     /* nobody serves it */
    bool silent;   /* whoever serves it has not answered in time */
    bool lost;     /* data could not be stored and were given up, or nobody can tell */
    int64_t nodes; /* that can still be unmounted together */
};

/*
 * Finds the mount and its daemon; the mount may take limit ms to answer. Returns -1 if
 * unmount_finish must follow, or the status to exit with, 0 or 1.
 */
int unmount_begin(struct unmount *job, int limit);

/*
 * Unmounts what unmount_begin has found. Returns the status to exit with: 0, 1, or UNMOUNT_LOST if
 * the daemon could not store everything after its mount was gone. A silent mount stays if it is one
 * of all (owner) and is not forced; without an owner it is waited for.
 */
int unmount_finish(struct unmount *job);

/* Does both, for one mount, and returns the same statuses. */
int unmount_run(struct unmount *job);

/* Prints "mpiio-umount: MOUNTPOINT: " and the text on stderr, on one line without control
 * characters. */
void unmount_say(const struct unmount *job, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Unmounting on several hosts at once: an mpiio-umount on each, started as mpiio-mount starts its
 * engines, each by an mpiexec of its own, so that a host that is gone keeps none of the others.
 */

/*
 * list: as --hosts of mpiio-mount takes it. A %n in the mount point is the host's place in the
 * list, from 0. Says what is left, and on which host. Returns the status to exit with.
 */
int unmount_hosts(const char *list, const char *mountpoint, bool force);

#endif
