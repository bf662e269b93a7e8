/* SPDX-License-Identifier: MIT */
#ifndef FS_MOUNT_H
#define FS_MOUNT_H

/* The life of a mount: open, serve, close. */

struct fs_options;
struct fs_session;

/*
 * mount.c: loads the spec, checks its views, opens the shared file and checks the mount point. Does
 * not mount yet. Returns an exit status: 0, or 1 or 2 after one line on stderr. The caller calls
 * fs_mount_close in either case.
 */
int fs_mount_open(struct fs_session *session, const struct fs_options *options);

void fs_mount_close(struct fs_session *session);

/*
 * places.c: refuses a mount point that would hide a file that the mount uses. If members were
 * hidden, the daemon would wait for itself to look them up. If the spec, the file or the log were
 * hidden, users could not reach them. Returns 0, or 1 after one line on stderr. Call it once the
 * spec is known, and before mounting.
 */
int fs_places_check(struct fs_session *session);

/*
 * places.c: checks the mount point, and sets session->mountpoint to its real path. A descriptor
 * ("/dev/fd/N") must be an open /dev/fuse. Returns 0, or 1 after one line on stderr. Call it before
 * mounting.
 */
int fs_places_mountpoint(struct fs_session *session);

/*
 * serve.c: mounts, and serves until the mount ends. With -F it serves in this process. Otherwise it
 * serves in a child, and this process returns as soon as the child serves. Returns an exit status,
 * 1 after one line on stderr.
 */
int fs_session_run(struct fs_session *session);

#endif
