/* SPDX-License-Identifier: MIT */
#ifndef FS_POINTERS_H
#define FS_POINTERS_H

#include <stdbool.h>

#include "pointers/pointers.h"

struct fs_session;

/*
 * The mount's shared file pointers (pointers/pointers.h): one for each view that has a "shared", by
 * the view's number. No view has one if the kernel holds writes back, because then only the kernel
 * knows the end of a slice. A view whose slices have gaps has none either.
 */
struct fs_pointers {
    struct mpiio_pointers *pointers; /* NULL: there is no "shared" */
    bool *shared;                    /* by view: it has a "shared"; the tree borrows it */
    struct mpiio_record record;      /* on several nodes: the location of the record */
    int memory; /* descriptor of the positions (grant.h); -1: no program can share them */
};

/*
 * Creates the pointers and the tree's "shared" entries. The views must have been checked, and the
 * mode chosen. Returns 0 or a negative errno. The caller calls fs_pointers_free in either case.
 */
int fs_pointers_init(struct fs_session *session);
void fs_pointers_free(struct fs_pointers *pointers);

/*
 * Agree on the record, on several nodes, before the mount is announced. fs_pointers_offer, on node
 * 0, creates the record and sets mount to its identity, or to zeros if that fails.
 * fs_pointers_meet, on each other node, checks that the node can use the record with that identity.
 * A node that cannot use it continues without "shared", and logs the reason.
 */
void fs_pointers_offer(struct fs_session *session, uint8_t mount[MPIIO_RECORD_IDENTITY]);
void fs_pointers_meet(struct fs_session *session, const uint8_t mount[MPIIO_RECORD_IDENTITY]);

#endif
