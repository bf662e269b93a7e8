/* SPDX-License-Identifier: MIT */
#ifndef FS_POINTERS_H
#define FS_POINTERS_H

#include <stdbool.h>

#include "pointers/pointers.h"

struct fs_session;

/*
 * The mount's shared file pointers (pointers/pointers.h): one a view that has a "shared", by the
 * view's number. Nobody has one where the kernel holds writes back, as it alone knows a slice's end
 * then, nor where a slice has gaps.
 */
struct fs_pointers {
    struct mpiio_pointers *pointers; /* NULL: there is no "shared" */
    bool *shared;                    /* by view: it has one */
    char *place;                     /* where the other nodes find them; NULL: nowhere */
};

/*
 * Sets them up, and the names of the tree: views are checked, and the mode is chosen. 0 or a
 * negative errno. fs_pointers_free is due in either case.
 */
int fs_pointers_init(struct fs_session *session);
void fs_pointers_free(struct fs_pointers *pointers);

/* As mpiio_pointers_meet; where some node cannot be found, "shared" is not there. */
int fs_pointers_meet(struct fs_session *session, const char *places, size_t size);

/* Starts what answers other nodes, after any fork. 0 or a negative errno. */
int fs_pointers_start(struct fs_pointers *pointers);

#endif
