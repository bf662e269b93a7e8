/* SPDX-License-Identifier: MIT */
#ifndef FS_MOUNT_H
#define FS_MOUNT_H

struct fs_options;
struct fs_session;

/*
 * Loads the spec, checks its views, opens the shared file and checks the mount point. Mounts
 * nothing. Returns an exit status: 0, or 1 or 2 after one line on stderr. The caller calls
 * fs_mount_close in either case.
 */
int fs_mount_open(struct fs_session *session, const struct fs_options *options);

void fs_mount_close(struct fs_session *session);

#endif
