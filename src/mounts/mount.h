/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_MOUNTS_MOUNT_H
#define MPIIO_MOUNTS_MOUNT_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#define MOUNTS_FD_LINK_SIZE 32

/* As mpiio_fd_link (core/base/fd_link.h): this layer includes none of the others. */
static inline void mounts_fd_link(int fd, char link[MOUNTS_FD_LINK_SIZE])
{
    snprintf(link, MOUNTS_FD_LINK_SIZE, "/proc/self/fd/%d", fd);
}

/* The kernel's table of mounts, /proc/PID/mountinfo. */

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

/*
 * The mount that is to go: found once, and from then on the same one or none. What it is known by
 * is the kernel's: the folder it lies in, held open, its name there, its number and its
 * filesystem's.
 */

struct mounts_mount {
    struct mounts_entry entry;
    int parent;     /* the folder that it lies in */
    char name[256]; /* its name there */
};

/*
 * Finds the topmost mount at a path, without a word to whoever serves it. 0, -EINVAL where nothing
 * is mounted there, or another negative errno.
 */
int mounts_find(const char *path, struct mounts_mount *mount);

/* Its root, a new descriptor (O_PATH); -ESTALE where it is not there any more. */
int mounts_open(const struct mounts_mount *mount);

/* False once it has been taken away. */
bool mounts_is_there(const struct mounts_mount *mount);

/*
 * Takes it away as root; lazily: also where it is in use. 0 or a negative errno: -EBUSY, -ESTALE
 * where another thing is in its place.
 */
int mounts_detach(const struct mounts_mount *mount, bool lazily);

#endif
