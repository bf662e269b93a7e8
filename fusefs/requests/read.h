/* SPDX-License-Identifier: MIT */
#ifndef FS_READ_H
#define FS_READ_H

#include "fusefs/session.h"

/* Bytes of the file that the slice is, header and all: how many, or a negative errno. */
ssize_t fs_read_file(struct fs_session *session, struct fs_slice *slice, char *buffer, size_t size,
                     off_t offset);

void fs_read(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
             struct fuse_file_info *info);
void fs_lseek(fuse_req_t request, fuse_ino_t inode, off_t offset, int whence,
              struct fuse_file_info *info);

#endif
