/* SPDX-License-Identifier: MIT */
#ifndef FS_SERVE_H
#define FS_SERVE_H

struct fs_session;

/*
 * Mounts, and serves until the mount ends: in this process with -F, else in a child, and then this
 * process returns as soon as the child serves. Returns an exit status, 1 after one line on stderr.
 */
int fs_session_run(struct fs_session *session);

#endif
