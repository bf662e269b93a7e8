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
    struct mpiio_record record;      /* on several nodes: where the record is */
    bool usable;                     /* all is set up for mpiio_pointers_start */
};

/*
 * Sets them up, and the names of the tree: views are checked, and the mode is chosen. 0 or a
 * negative errno. fs_pointers_free is due in either case.
 */
int fs_pointers_init(struct fs_session *session);
void fs_pointers_free(struct fs_pointers *pointers);

/*
 * On several nodes, before the mount is announced: node 0 creates the record, and mount gets its
 * identity; zeros if that fails. Then every node checks that it can use the record of that
 * identity. A node that cannot has no "shared"; the reason is in its log.
 */
void fs_pointers_offer(struct fs_session *session, uint8_t mount[MPIIO_RECORD_IDENTITY]);
void fs_pointers_meet(struct fs_session *session, const uint8_t mount[MPIIO_RECORD_IDENTITY]);

/* Starts the thread that uses the record, after any fork. Returns 0 or a negative errno. */
int fs_pointers_start(struct fs_pointers *pointers);

#endif
