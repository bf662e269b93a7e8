/* SPDX-License-Identifier: MIT */
#ifndef FS_ATOMIC_CHANGE_H
#define FS_ATOMIC_CHANGE_H

#include "fusefs/session.h"

/* Atomic mode, on or off: for this node, or for all of them together. */

/* Before the mount serves: atomic mode is on. 0 or a negative errno: -EOPNOTSUPP without locks. */
int fs_atomic_start(struct fs_session *session);

/* Answers the request to set the mode to value, on all nodes. For fs_jobs_run. */
void fs_atomic_set(struct fs_session *session, struct fs_job *job);

/* The peers' on_prepare and on_settled. */
void fs_atomic_on_prepare(void *session, uint64_t change, bool value);
void fs_atomic_on_settled(void *session, uint64_t change, bool value, bool committed);

#endif
