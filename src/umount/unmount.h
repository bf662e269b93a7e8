/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_UMOUNT_UNMOUNT_H
#define MPIIO_UMOUNT_UNMOUNT_H

#include <stdbool.h>

#include "mounts/mount.h"
#include "process.h"

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

/* A mount that is being unmounted, step by step, and its state for messages. */

struct unmount {
    const char *mountpoint; /* as the user typed it, for messages */
    const char *path;       /* where it is found from the working folder */
    bool force;
    bool alone; /* this node only */
    /* NULL, or the user of --all: a mount that has gone or has another owner is skipped silently */
    const uid_t *owner;
    bool dead_only; /* unmount it only if its daemon has exited */
    struct mounts_mount mount;
    struct umount_daemon daemon;
    int abort;     /* with force: a descriptor that aborts its connection, or < 0 */
    int waiting;   /* without force: a descriptor that shows if it is connected, or < 0 */
    int ending;    /* the descriptor of the daemon's final report (process.h), or < 0 */
    bool dead;     /* no daemon serves it */
    bool silent;   /* its daemon has not answered in time */
    bool lost;     /* data could not be stored and was given up, or this is unknown */
    int64_t nodes; /* nodes that can still be unmounted together */
};

/*
 * Finds the mount and its daemon; the mount may take limit ms to answer. Returns -1 if
 * unmount_finish must follow, or the status to exit with, 0 or 1.
 */
int unmount_begin(struct unmount *job, int limit);

/*
 * Unmounts the mount that unmount_begin has found. Returns the status to exit with: 0, 1, or
 * UNMOUNT_LOST if the daemon could not store everything after its mount had gone. With --all
 * (owner), a silent mount stays unless force is set. Without an owner, waits for it.
 */
int unmount_finish(struct unmount *job);

/* Runs both steps for one mount, and changes to the root folder. Returns the same statuses. */
int unmount_run(struct unmount *job);

/* Prints "mpiio-umount: ", the subject, which is a mount point or a host, and the text on stderr,
   on one line without control characters. */
void unmount_say(const char *subject, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Unmounts everything that the user all->owner has mounted on this host, as at the end of a batch
 * job. `all` has the owner and the options, but no mount point. Unmounts the newest mount
 * first, and continues after a failure. Returns the status to exit with: 0, 1 if a mount stays,
 * else UNMOUNT_LOST if data was lost, or may have been.
 */
int unmount_all(const struct unmount *all);

/*
 * Unmounting on several hosts at once. Each host runs an mpiio-umount, started the way mpiio-mount
 * starts its engines. Each has an mpiexec of its own, so that an unreachable host does not delay
 * the others.
 */

/*
 * Unmounts on the hosts of list, in the syntax of --hosts of mpiio-mount. A %n in the mount point
 * is replaced by the host's index in the list, from 0. Reports mounts that stay, and their hosts.
 * Returns the status to exit with.
 */
int unmount_hosts(const char *list, const char *mountpoint, bool force);

#endif
