/* SPDX-License-Identifier: MIT */
#ifndef FS_OPEN_H
#define FS_OPEN_H

#include "fusefs/session.h"

void fs_open(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info);
void fs_flush(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info);
void fs_release(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info);

/* Answers an open; the handle is freed where it was given up meanwhile. Thread-safe. */
void fs_open_reply(struct fs_session *session, fuse_req_t request,
                   const struct fuse_file_info *info);

#endif
