/* SPDX-License-Identifier: MIT */
#ifndef FS_XATTR_H
#define FS_XATTR_H

#include "fusefs/session.h"

void fs_getxattr(fuse_req_t request, fuse_ino_t inode, const char *name, size_t size);
void fs_listxattr(fuse_req_t request, fuse_ino_t inode, size_t size);
void fs_setxattr(fuse_req_t request, fuse_ino_t inode, const char *name, const char *value,
                 size_t size, int flags);
void fs_removexattr(fuse_req_t request, fuse_ino_t inode, const char *name);

#endif
