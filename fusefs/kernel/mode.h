/* SPDX-License-Identifier: MIT */
#ifndef FS_MODE_H
#define FS_MODE_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>
#include <stdbool.h>
#include <stddef.h>

#include "fusefs/names/handle.h"

struct fs_session;

/*
 * The caching modes: the rules for the kernel's cache of a mount's slices, and the daemon's part in
 * keeping it valid. The mode is chosen before the mount serves. The kind of handle and the
 * atomicity, which may change later, are checked separately.
 */
enum fs_mode {
    FS_MODE_SHARED, /* the file may change while the kernel has pages of it */
    FS_MODE_DIRECT, /* like shared, but reads bypass the page cache; slices can still be mapped */
    FS_MODE_UNIQUE, /* only the kernel changes slices. It holds writes back, and determines the end
                       of a slice and the offset of an append */
};

/* All functions are thread-safe. */

/*
 * In mode unique, sets *inode to the inode number of a slice that the kernel looks up. In other
 * modes this is the slice's own, and nothing is done. Returns 0 or a negative errno.
 */
int fs_mode_number(struct fs_session *session, struct fs_slice *slice, fuse_ino_t *inode);

/* Sets keep_cache and direct_io for a handle that has joined the open handles of its slice. */
void fs_mode_open(struct fs_session *session, const struct fs_handle *handle,
                  struct fuse_file_info *info);

/*
 * Completes an fsync. If pages may be older than the file, invalidates them, so that the reader
 * sees what others have stored. Then returns 1: the notifier answers. Otherwise returns 0 or a
 * negative errno, for the caller to answer. In mode unique, pages are never older than the file.
 */
int fs_mode_refresh(struct fs_session *session, fuse_req_t request, struct fs_handle *handle);

/*
 * Answers a write of put bytes at offset. They are stored, so other readers must see them after
 * the answer. direct is true if the write bypassed the page cache. In mode unique, no other slice
 * shows the bytes, and the slice's own pages have them, so nothing is invalidated.
 */
void fs_mode_wrote(struct fs_session *session, fuse_req_t request, const struct fs_handle *handle,
                   off_t offset, size_t put, bool direct);

#endif
