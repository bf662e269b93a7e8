/* SPDX-License-Identifier: MIT */
#ifndef FS_READAHEAD_H
#define FS_READAHEAD_H

/*
 * Has the kernel read ahead in requests of full size, where this process may say so. Call it when
 * the mount serves: the answer to INIT sets the value back. Best effort.
 */
void fs_readahead_raise(const char *mountpoint, unsigned bytes);

#endif
