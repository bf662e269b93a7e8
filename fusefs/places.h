/* SPDX-License-Identifier: MIT */
#ifndef FS_PLACES_H
#define FS_PLACES_H

struct fs_session;

/*
 * Refuses to mount over what the mount opens: over members, because the daemon would wait for
 * itself to look them up, and over the spec, the file and the log, because the mount would hide
 * them. Returns 0, or 1 after one line on standard error. To be called before mounting; local.
 */
int fs_places_check(const struct fs_session *session);

#endif
