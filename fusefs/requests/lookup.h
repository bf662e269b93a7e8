/* SPDX-License-Identifier: MIT */
#ifndef FS_LOOKUP_H
#define FS_LOOKUP_H

#include "fusefs/session.h"

void fs_lookup(fuse_req_t request, fuse_ino_t parent, const char *name);
void fs_getattr(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info);
void fs_setattr(fuse_req_t request, fuse_ino_t inode, struct stat *wanted, int which,
                struct fuse_file_info *info);
void fs_access(fuse_req_t request, fuse_ino_t inode, int mask);
void fs_statfs(fuse_req_t request, fuse_ino_t inode);

#endif
