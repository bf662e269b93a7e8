/* SPDX-License-Identifier: MIT */
#ifndef FS_RIGHTS_H
#define FS_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "fusefs/names/tree.h"

struct fs_options;
struct fs_session;
struct mpiio_store;

/*
 * The rights of users other than the mounting one (allow_other): the same as on the shared file.
 * The kernel decides, because it knows the caller's user, groups and capabilities. It gets the
 * owner, mode and POSIX access control list of a slice from the daemon. If it cannot evaluate the
 * list, no other user gets access.
 */
struct fs_rights {
    const struct fs_options *options; /* borrowed, like store */
    struct mpiio_store *store;
    bool for_others; /* other users have access; all fields are set before the mount serves */
    bool evaluated;  /* the kernel evaluates lists */
    /* The numbers by which stat(2) shows owners outside the daemon's user namespace; -1: none. */
    uid_t unmapped_user;
    gid_t unmapped_group;

    /* Rights of spec.json: the spec's when it was read, or for shorthand the file's. */
    struct stat spec;
    void *spec_list; /* owned; NULL: none */
    size_t spec_length;
};

/*
 * Reads the rights of the shared file, which is open, and of the spec. Returns an exit status: 0,
 * or 1 after one line on stderr. The caller calls fs_rights_free in either case.
 */
int fs_rights_init(struct fs_session *session);
void fs_rights_free(struct fs_rights *rights);

/* Returns the mode to report for a node that has that mode and possibly a list. Thread-safe. */
mode_t fs_rights_mode(const struct fs_rights *rights, mode_t mode);

/*
 * Sets the owner of a node to the owner of the file. If that owner is outside the daemon's user
 * namespace, sets the daemon's user or group, because the kernel refuses writes to nodes of unknown
 * owners. Thread-safe.
 */
void fs_rights_set_owner(const struct fs_rights *rights, const struct stat *file, struct stat *st);

/* Fills in the owner and the mode of spec.json; file is the shared file's. Thread-safe. */
void fs_rights_of_spec(const struct fs_rights *rights, const struct stat *file, struct stat *st);

/*
 * Reads the access control list of a node as mpiio_acl_read does, limited to the bits of mode.
 * Returns -EACCES if the kernel cannot evaluate the file's list, or -EOPNOTSUPP if it does not
 * evaluate lists at all. Thread-safe.
 */
ssize_t fs_rights_list(const struct fs_rights *rights, struct fs_node node, unsigned mode,
                       void *list, size_t size);

#endif
