/* SPDX-License-Identifier: MIT */
#ifndef FS_READDIR_H
#define FS_READDIR_H

#include "fusefs/session.h"

void fs_opendir(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info);
void fs_readdir(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
                struct fuse_file_info *info);

void fs_readdirplus(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
                    struct fuse_file_info *info);

/*
 * Whether folders are listed with what stat tells of each slice. Then the kernel goes by that for a
 * moment without asking: fs_listed_entry fills in what it is told of a slice, or leaves entry as it
 * is where that is not known; fs_listed_forget, when a slice is opened, has it ask for the size
 * again if a folder was listed just before. folder.c, Thread-safe.
 */
bool fs_lists_attributes(const struct fs_session *session);
void fs_listed_entry(struct fs_session *session, struct fs_node node,
                     struct fuse_entry_param *entry);
void fs_listed_forget(struct fs_session *session, fuse_ino_t inode);

#endif
