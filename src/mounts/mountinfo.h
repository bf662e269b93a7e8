/* SPDX-License-Identifier: MIT */
/* The kernel's table of mounts, /proc/PID/mountinfo. */
#ifndef MPIIO_MOUNTS_MOUNTINFO_H
#define MPIIO_MOUNTS_MOUNTINFO_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct mounts_entry {
    int id; /* of the mount; another's once this one is gone */
    unsigned major;
    unsigned minor; /* of the filesystem; a FUSE connection's number */
    char place[PATH_MAX];
    char type[64];
    char source[PATH_MAX]; /* as it stands there, cut to fit */
    uid_t owner;           /* who mounted it, by FUSE; 0 where it is not said */
    gid_t group;
};

/* Takes a line apart, which it changes. False where it is none of such a table. */
bool mounts_entry_parse(char *line, struct mounts_entry *entry);

/* Reads the next line of an open table. False at its end. */
bool mounts_entry_next(FILE *table, struct mounts_entry *entry);

#endif
