/* SPDX-License-Identifier: MIT */
#ifndef FS_TRUNCATE_H
#define FS_TRUNCATE_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>

#include "fusefs/names/handle.h"

struct fs_session;

/*
 * Truncation by requests, and the filling of gaps with zeros: src/DESIGN.md, "Truncation of
 * slices". Offsets count in the slice's data, without a NumPy header, except for a file's size.
 * Functions return 0 or a negative errno and are thread-safe.
 */

/*
 * Truncates the slice of a handle that has just been opened with O_TRUNC. Sets *told if another
 * size than the slice's must be reported to the kernel.
 */
int fs_truncate_opened(struct fs_session *session, fuse_ino_t inode, struct fs_handle *handle,
                       off_t *reported);

/*
 * Implements ftruncate(2) of a slice that is open by the handle. size includes the header. told is
 * as above.
 */
int fs_truncate_to(struct fs_session *session, fuse_ino_t inode, const struct fs_handle *handle,
                   int64_t size, off_t *reported);

/*
 * Fills the gap before bytes [start, end) that are about to be written, if the slice is cut. Call
 * it between fs_unwritten_begin_write and its end. If mapped, the bytes are stores through a
 * mapping, and a gap is filled only if the kernel holds writes back.
 */
int fs_truncate_fill_gap(struct fs_session *session, fuse_ino_t inode,
                         const struct fs_handle *handle, int64_t start, int64_t end, bool mapped);

/*
 * Replaces bytes beyond mark by zeros in a buffer that was read at offset, which includes the
 * header. mark is the cut's mark before the read. Needed if the kernel holds writes back.
 */
void fs_truncate_mask(const struct fs_slice *slice, int64_t mark, char *buffer, size_t size,
                      int64_t offset);

#endif
