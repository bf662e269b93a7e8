/* SPDX-License-Identifier: MIT */
#ifndef FS_UNMOUNT_H
#define FS_UNMOUNT_H

#include "fusefs/session.h"

/* Unmounting this node, and all of them. */

/* Answers the request to unmount all nodes, with value: whatever is lost. For fs_jobs_run. */
void fs_unmount_all(struct fs_session *session, struct fs_job *job);

/* What the last attempt to unmount all nodes left unsaved, the caller's to free; NULL: nothing. */
char *fs_unmount_unsaved(struct fs_jobs *control);

/* The peers' on_unmount: unmounts this node, if what it holds can be stored. */
void fs_unmount_on_unmount(void *session, bool force);

#endif
