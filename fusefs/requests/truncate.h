/* SPDX-License-Identifier: MIT */
#ifndef FS_TRUNCATE_H
#define FS_TRUNCATE_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>

#include "fusefs/names/handle.h"

struct fs_session;

/*
 * Truncation as requests ask for it, and the filling of gaps with zeros: src/DESIGN.md, "Truncation
 * of slices". Offsets are those of the slice's data, without a NumPy header, except where a file's
 * size is meant. Functions return 0 or a negative errno and are thread-safe.
 */

/*
 * Truncates the slice of a handle that has just been opened with O_TRUNC. Sets told to the size
 * that the kernel is to be told, or leaves it.
 */
int fs_truncate_opened(struct fs_session *session, fuse_ino_t inode, struct fs_handle *handle,
                       off_t *told);

/*
 * Implements ftruncate(2) of a slice that is open by the handle; size includes the header, told is
 * as above.
 */
int fs_truncate_to(struct fs_session *session, fuse_ino_t inode, const struct fs_handle *handle,
                   int64_t size, off_t *told);

/*
 * Fills the gap before bytes [start, end) that are about to be written, if the slice is cut. To be
 * called between fs_losses_begin_write and its end. mapped: the bytes are stores through a mapping,
 * before which nothing is filled unless the kernel holds writes back.
 */
int fs_truncate_fill_gap(struct fs_session *session, fuse_ino_t inode,
                         const struct fs_handle *handle, int64_t start, int64_t end, bool mapped);

/*
 * Clears bytes that were read at offset, which includes the header, from a slice of a kernel that
 * holds writes back: those behind mark, the cut's mark before the read, become zeros.
 */
void fs_truncate_mask(const struct fs_slice *slice, int64_t mark, char *buffer, size_t size,
                      int64_t offset);

#endif
