/* SPDX-License-Identifier: MIT */
#ifndef FS_MOUNT_H
#define FS_MOUNT_H

/* A mount from its beginning to its end. */

struct fs_options;
struct fs_session;
struct vs_spec;

/*
 * mount.c: loads the spec, checks its views, opens the shared file and checks the mount point.
 * Mounts nothing. Returns an exit status: 0, or 1 or 2 after one line on stderr. The caller calls
 * fs_mount_close in either case.
 */
int fs_mount_open(struct fs_session *session, const struct fs_options *options);

void fs_mount_close(struct fs_session *session);

/*
 * places.c: refuses to mount over what the mount opens: over members, because the daemon would wait
 * for itself to look them up, and over the spec, the file and the log, because the mount would hide
 * them. Returns 0, or 1 after one line on standard error. To be called before mounting; local.
 */
int fs_places_check(const struct fs_options *options, const struct vs_spec *spec);

/*
 * places.c: checks the mount point, and sets *mountpoint to its real path, which the caller frees.
 * A descriptor ("/dev/fd/N") must be an open /dev/fuse. Returns 0, or 1 after one line on standard
 * error. To be called before mounting; local.
 */
int fs_places_mountpoint(const struct fs_options *options, char **mountpoint);

/*
 * serve.c: mounts, and serves until the mount ends: in this process with -F, else in a child, and
 * then this process returns as soon as the child serves. Returns an exit status, 1 after one line
 * on stderr.
 */
int fs_session_run(struct fs_session *session);

#endif
