/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_MOUNTS_MOUNT_H
#define MPIIO_MOUNTS_MOUNT_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#define MOUNTS_FD_LINK_SIZE 32

/* Like mpiio_fd_link (core/base/fd_link.h). This layer includes none of the others. */
static inline void mounts_fd_link(int fd, char link[MOUNTS_FD_LINK_SIZE])
{
    snprintf(link, MOUNTS_FD_LINK_SIZE, "/proc/self/fd/%d", fd);
}

/* The mount table of the kernel, /proc/PID/mountinfo. */

struct mounts_entry {
    int id; /* of the mount; reused once the mount has gone */
    unsigned major;
    unsigned minor; /* of the filesystem; a FUSE connection's number */
    char place[PATH_MAX];
    char type[64];
    char source[PATH_MAX]; /* as in the table, truncated to fit */
    uid_t owner;           /* the user who mounted, according to FUSE; 0 if unknown */
    gid_t group;
};

/* Parses a line of the table and modifies it. Returns false if it is not such a line. */
bool mounts_entry_parse(char *line, struct mounts_entry *entry);

/* Reads the next line of an open table. Returns false at its end. */
bool mounts_entry_next(FILE *table, struct mounts_entry *entry);

/*
 * A mount. It is found once; after that it is the same mount or none. The kernel identifies it: by
 * its parent folder, held open, its name there, its id and its device number.
 */

struct mounts_mount {
    struct mounts_entry entry;
    int parent;     /* its parent folder */
    char name[256]; /* its name in that folder */
};

/*
 * Finds the topmost mount at a path without a request to its daemon. Returns 0, -EINVAL if nothing
 * is mounted there, or another negative errno. On success the caller closes mount->parent.
 */
int mounts_find(const char *path, struct mounts_mount *mount);

/* Returns a new descriptor (O_PATH) of its root; -ESTALE if the mount has gone. */
int mounts_open(const struct mounts_mount *mount);

/* Returns false once it has been unmounted. */
bool mounts_is_there(const struct mounts_mount *mount);

/*
 * Unmounts it as root. lazily (MNT_DETACH) succeeds even if it is in use. Returns 0 or a negative
 * errno: -EBUSY, or -ESTALE if something else has taken its place.
 */
int mounts_detach(const struct mounts_mount *mount, bool lazily);

#endif
