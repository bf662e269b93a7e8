/* SPDX-License-Identifier: MIT */
#ifndef FS_FSYNC_H
#define FS_FSYNC_H

#include "fusefs/session.h"

void fs_fsync(fuse_req_t request, fuse_ino_t inode, int datasync, struct fuse_file_info *info);
void fs_fsyncdir(fuse_req_t request, fuse_ino_t inode, int datasync, struct fuse_file_info *info);

#endif
