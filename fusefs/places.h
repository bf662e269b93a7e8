/* SPDX-License-Identifier: MIT */
#ifndef FS_PLACES_H
#define FS_PLACES_H

struct fs_session;

/*
 * Refuses to mount over what the mount opens: members, which the daemon would wait for itself to
 * look up, and the spec, the file and the log, which the mount would hide. 0, or 1 after one line
 * on standard error. Before the mount; local.
 */
int fs_places_check(const struct fs_session *session);

#endif
