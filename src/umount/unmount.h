/* SPDX-License-Identifier: MIT */
/* Unmounting, step by step, and what is said of it. */
#ifndef MPIIO_UMOUNT_UNMOUNT_H
#define MPIIO_UMOUNT_UNMOUNT_H

#include "daemon.h"
#include "mounts/mount.h"

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
    int abort;     /* with force: what aborts its connection, or < 0 */
    bool dead;     /* nobody serves it */
    bool lost;     /* data could not be stored and were given up, or nobody can tell */
    int64_t nodes; /* that can still be unmounted together */
};

/* Does it; returns the status to exit with, 0 or 1. */
int unmount_run(struct unmount *job);

#endif
