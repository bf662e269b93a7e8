/* SPDX-License-Identifier: MIT */
#ifndef FS_READAHEAD_H
#define FS_READAHEAD_H

/*
 * Makes the kernel read ahead in requests of full size, if this process has the permission. Call it
 * when the mount serves, because the answer to INIT resets the value. Best effort.
 */
void fs_readahead_raise(const char *mountpoint, unsigned bytes);

#endif
