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
 * What the kernel may keep of the slices of a mount, and what is done for it: chosen before the
 * mount serves. What a handle is, and the atomicity, which may change later, is asked beside that.
 * All functions are thread-safe.
 */
struct fs_mode {
    /* The kernel holds writes back: it knows the end of a slice, and where an append goes. */
    bool holds_writes;
    bool maps_direct;      /* slices that are open past the page cache can be mapped all the same */
    bool lists_attributes; /* of the slices of a large folder */
    double timeout;        /* of a slice's attributes, in s */

    /* The inode number by which the kernel, which looks the slice up, is to know it. 0 or a
       negative errno. */
    int (*number)(struct fs_session *session, struct fs_slice *slice, fuse_ino_t *inode);

    /* Sets keep_cache and direct_io for a handle that has joined its slice's. */
    void (*open)(struct fs_session *session, const struct fs_handle *handle,
                 struct fuse_file_info *info);

    /*
     * Answers an fsync. Invalidates pages that may be older than the file, so that the reader then
     * sees what others have stored, and returns 1: the notifier answers. Else returns 0 or a
     * negative errno. Unique mode invalidates nothing.
     */
    int (*refresh)(struct fs_session *session, fuse_req_t request, fuse_ino_t inode,
                   struct fs_handle *handle);

    /*
     * Answers a write of put bytes at offset, which are stored: others see them from then on.
     * direct: it came past the page cache.
     */
    void (*wrote)(struct fs_session *session, fuse_req_t request, fuse_ino_t inode,
                  const struct fs_handle *handle, off_t offset, size_t put, bool direct);
};

/* Others may change what the kernel has pages of. */
extern const struct fs_mode fs_mode_shared;

/* The same, but slices are read past its pages. */
extern const struct fs_mode fs_mode_direct;

/* The kernel is the only one to change slices, and holds writes back. */
extern const struct fs_mode fs_mode_unique;

#endif
