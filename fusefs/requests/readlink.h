/* SPDX-License-Identifier: MIT */
#ifndef FS_READLINK_H
#define FS_READLINK_H

#include "fusefs/session.h"

void fs_readlink(fuse_req_t request, fuse_ino_t inode);

#endif
