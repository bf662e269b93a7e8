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
 * A caching mode: the rules for the kernel's cache of a mount's slices, and the daemon's part in
 * keeping it valid. The mode is chosen before the mount serves. The kind of handle and the
 * atomicity, which may change later, are checked separately. All functions are thread-safe.
 */
struct fs_mode {
    /*
     * The kernel holds writes back. It determines the end of a slice, and the offset of an append.
     */
    bool holds_writes;
    bool maps_direct; /* slices can be mapped although they bypass the page cache */
    double timeout;   /* validity of a slice's attributes, in s */

    /*
     * Sets *inode to the inode number of a slice that the kernel looks up. Returns 0 or a negative
     * errno. NULL: it is the slice's own.
     */
    int (*number)(struct fs_session *session, struct fs_slice *slice, fuse_ino_t *inode);

    /* Sets keep_cache and direct_io for a handle that has joined the open handles of its slice. */
    void (*open)(struct fs_session *session, const struct fs_handle *handle,
                 struct fuse_file_info *info);

    /*
     * Completes an fsync. If pages may be older than the file, invalidates them, so that the reader
     * sees what others have stored. Then returns 1: the notifier answers. Otherwise returns 0 or a
     * negative errno, for the caller to answer. NULL: pages are never older than the file.
     */
    int (*refresh)(struct fs_session *session, fuse_req_t request, fuse_ino_t inode,
                   struct fs_handle *handle);

    /*
     * Answers a write of put bytes at offset. They are stored, so other readers must see them after
     * the answer. direct is true if the write bypassed the page cache. NULL: no other slice shows
     * the bytes, and the slice's own pages have them; the write is answered at once.
     */
    void (*wrote)(struct fs_session *session, fuse_req_t request, fuse_ino_t inode,
                  const struct fs_handle *handle, off_t offset, size_t put, bool direct);
};

/* The file may change while the kernel has pages of it. */
extern const struct fs_mode fs_mode_shared;

/* Like shared, but reads bypass the page cache. */
extern const struct fs_mode fs_mode_direct;

/* Only the kernel changes slices, and it holds writes back. */
extern const struct fs_mode fs_mode_unique;

#endif
