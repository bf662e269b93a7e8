/* SPDX-License-Identifier: MIT */
/* Unmounting, step by step, and what is said of it. */
#ifndef MPIIO_UMOUNT_UNMOUNT_H
#define MPIIO_UMOUNT_UNMOUNT_H

#include "daemon.h"
#include "mount.h"

struct unmount {
    const char *mountpoint; /* as it was given */
    const char *hosts;      /* to do it on; NULL: here */
    bool force;
    bool alone; /* this node only */
    struct umount_mount mount;
    struct umount_daemon daemon;
    bool dead;     /* nobody serves it */
    int64_t nodes; /* that can still be unmounted together */
};

/* Does it; returns the status to exit with. */
int unmount_run(struct unmount *job);

#endif
