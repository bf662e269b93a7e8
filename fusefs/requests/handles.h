/* SPDX-License-Identifier: MIT */
#ifndef FS_HANDLES_H
#define FS_HANDLES_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>

struct fs_session;

/* Requests about open files: each finds the handle, calls its operation (handle_ops.h), replies. */

void fs_open(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info);
void fs_read(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
             struct fuse_file_info *info);
void fs_write(fuse_req_t request, fuse_ino_t inode, const char *buffer, size_t size, off_t offset,
              struct fuse_file_info *info);
void fs_lseek(fuse_req_t request, fuse_ino_t inode, off_t offset, int whence,
              struct fuse_file_info *info);
void fs_fallocate(fuse_req_t request, fuse_ino_t inode, int mode, off_t offset, off_t length,
                  struct fuse_file_info *info);
void fs_fsync(fuse_req_t request, fuse_ino_t inode, int datasync, struct fuse_file_info *info);
void fs_flush(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info);
void fs_release(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info);

/* Answers an open. Frees the handle if the kernel has abandoned the open. Thread-safe. */
void fs_open_reply(struct fs_session *session, fuse_req_t request,
                   const struct fuse_file_info *info);

#endif
