/* SPDX-License-Identifier: MIT */
#ifndef FS_DEVICE_H
#define FS_DEVICE_H

#include "fusefs/session.h"

/*
 * Has a mounted session answer INIT with FUSE_HANDLE_KILLPRIV_V2, for which libfuse before 3.17 has
 * no FUSE_CAP. Without it the kernel asks for the extended attribute security.capability before
 * each write: twice the requests. There is nothing to do for it: slices have no set-user-ID bit and
 * no capabilities. Kernels that do not know the flag ignore it. Returns 0, or not.
 */
int fs_device_use(struct fs_session *session);

/* The device of what is mounted at the mount point, as the kernel knows it: it does not ask us. */
dev_t fs_mounted_device(const struct fs_session *session);

#endif
