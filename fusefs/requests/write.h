/* SPDX-License-Identifier: MIT */
#ifndef FS_WRITE_H
#define FS_WRITE_H

#include "fusefs/session.h"

void fs_write(fuse_req_t request, fuse_ino_t inode, const char *buffer, size_t size, off_t offset,
              struct fuse_file_info *info);
void fs_fallocate(fuse_req_t request, fuse_ino_t inode, int mode, off_t offset, off_t length,
                  struct fuse_file_info *info);

#endif
