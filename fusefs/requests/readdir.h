/* SPDX-License-Identifier: MIT */
#ifndef FS_READDIR_H
#define FS_READDIR_H

#include "fusefs/session.h"

void fs_opendir(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info);
void fs_readdir(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
                struct fuse_file_info *info);
void fs_readdirplus(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
                    struct fuse_file_info *info);
void fs_fsyncdir(fuse_req_t request, fuse_ino_t inode, int datasync, struct fuse_file_info *info);

/*
 * Whether folders are listed with what stat tells of each slice. The kernel goes by that for a
 * moment without asking (lookup.h). Thread-safe.
 */
bool fs_lists_attributes(const struct fs_session *session);

#endif
