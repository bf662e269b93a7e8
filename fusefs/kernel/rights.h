/* SPDX-License-Identifier: MIT */
#ifndef FS_RIGHTS_H
#define FS_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "fusefs/names/tree.h"

struct fs_options;
struct mpiio_store;

/*
 * What others than the mounting user may do where they are let in (allow_other): as much as the
 * shared file lets them. The kernel decides that for each caller, with the owner, the mode and the
 * POSIX access control list that it is told of a slice; so the rules are evaluated by what has the
 * caller's user, groups and capabilities at hand. A list that it cannot evaluate lets nobody in.
 */
struct fs_rights {
    const struct fs_options *options; /* borrowed, as is store */
    struct mpiio_store *store;
    bool for_others; /* others are let in; set before the mount serves, as all here */
    bool evaluated;  /* the kernel evaluates lists */

    /* Those of spec.json: the spec's when it was read. A view in shorthand has the file's. */
    struct stat spec;
    void *spec_list; /* owned; NULL: none */
    size_t spec_length;
};

/*
 * Looks at the rights of the shared file, which is open and has that path, and of the spec. Returns
 * an exit status: 0, or 1 after one line on stderr. fs_rights_free is due in either case.
 */
int fs_rights_init(struct fs_rights *rights, const struct fs_options *options,
                   const struct vs_spec *spec, struct mpiio_store *store, const char *file);
void fs_rights_free(struct fs_rights *rights);

/* The mode that others are to see of what has that mode and, perhaps, a list. Thread-safe. */
mode_t fs_rights_mode(const struct fs_rights *rights, mode_t mode);

/* Fills in the owner and the mode of spec.json; file is the shared file's. Thread-safe. */
void fs_rights_of_spec(const struct fs_rights *rights, const struct stat *file, struct stat *st);

/*
 * The access control list of a node, as mpiio_acl_read has it, limited to what can be done with
 * the node: mode's bits. -EACCES where nobody can evaluate what the file has; -EOPNOTSUPP where
 * the kernel does not ask in order to evaluate it. Thread-safe.
 */
ssize_t fs_rights_list(const struct fs_rights *rights, struct fs_node node, unsigned mode,
                       void *list, size_t size);

#endif
