/* SPDX-License-Identifier: MIT */
#ifndef FS_SLICE_H
#define FS_SLICE_H

#include "handle_ops.h"

/* The operations of slices, which other kinds of files use. */

/*
 * Begins an open: finds the slice of inode, checks the flags of info, and adds the handle to the
 * slice's open ones. fs_slice_release undoes that; after a failure the caller must not call it.
 */
int fs_slice_join(struct fs_session *session, fuse_ino_t inode, pid_t thread,
                  struct fs_handle *handle, struct fuse_file_info *info);
void fs_slice_release(struct fs_session *session, struct fs_handle *handle);

ssize_t fs_slice_read_at(struct fs_read *read);
ssize_t fs_slice_write_at(struct fs_write *write);
int fs_slice_fsync(struct fs_session *session, struct fs_waiter *waiter);
int fs_slice_flush(struct fs_session *session, struct fs_handle *handle, int torn);

#endif
