/* SPDX-License-Identifier: MIT */
#ifndef FS_ORDERED_H
#define FS_ORDERED_H

#include <stddef.h>

struct fs_session;
struct mounts_ending;

/*
 * "ordered": what ranks read and write at the shared file pointer in the order of ranks
 * (pointers/ordered.h), from open to release. A handle of it has a share.
 */

/* Sets it up where the mount has shared file pointers. 0 or a negative errno. */
int fs_ordered_init(struct fs_session *session);

/* Starts what places shares whose turn comes from other nodes. 0 or a negative errno. */
int fs_ordered_start(struct fs_session *session);

/* Ends all waiting, so that the workers can end. Thread-safe. */
void fs_ordered_stop(void *session);

/* Closes all contributions. Called after this node was unmounted. */
void fs_ordered_close_all(struct fs_session *session);

/*
 * Called when all nodes are unmounted, or nodes have lost each other. Places what still waits, and
 * logs how much was placed before its turn. Unless nodes have lost each other, waits until the
 * other nodes have placed and stored theirs. report: for mpiio-umount, which waits for this
 * process; NULL: none.
 */
void fs_ordered_finish(struct fs_session *session, struct mounts_ending *report);

/*
 * The kernel does not wait for a release: waits a moment for those of a view that may be under way,
 * so that who looks at a slice now sees what was placed by them. Thread-safe.
 */
void fs_ordered_await_releases(struct fs_session *session, size_t view);

#endif
