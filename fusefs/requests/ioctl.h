/* SPDX-License-Identifier: MIT */
#ifndef FS_IOCTL_H
#define FS_IOCTL_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>

struct fs_handle;
struct fs_session;

/* Answers a request for a grant, upon which the kernel has dropped its pages. */
void fs_ioctl_asked(struct fs_session *session, fuse_req_t request, struct fs_handle *handle);

void fs_ioctl(fuse_req_t request, fuse_ino_t inode, unsigned command, void *argument,
              struct fuse_file_info *info, unsigned flags, const void *in, size_t in_size,
              size_t out_size);

#endif
