/* SPDX-License-Identifier: MIT */
#ifndef FS_LOOKUP_H
#define FS_LOOKUP_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>

#include "fusefs/names/tree.h"

struct fs_session;

void fs_lookup(fuse_req_t request, fuse_ino_t parent, const char *name);
void fs_getattr(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info);
void fs_setattr(fuse_req_t request, fuse_ino_t inode, struct stat *wanted, int which,
                struct fuse_file_info *info);
void fs_access(fuse_req_t request, fuse_ino_t inode, int mask);
void fs_statfs(fuse_req_t request, fuse_ino_t inode);

/*
 * Where folders are listed with what stat tells of each slice: fs_listed_entry fills in what the
 * kernel is told of one, or leaves entry as it is where that is not known; fs_listed_forget, when a
 * slice is opened, has it ask for the size again if a folder was listed just before. Thread-safe.
 */
void fs_listed_entry(struct fs_session *session, struct fs_node node,
                     struct fuse_entry_param *entry);
void fs_listed_forget(struct fs_session *session, fuse_ino_t inode);

#endif
