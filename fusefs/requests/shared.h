/* SPDX-License-Identifier: MIT */
#ifndef FS_SHARED_H
#define FS_SHARED_H

#include "fusefs/names/handle.h"

struct fs_session;

/*
 * Reads and writes of "shared": each is of as many whole etypes as it has room for, at the shared
 * file pointer, which is moved behind them. The kernel sends a call of more than FS_READ_MAX
 * (max_read) or FS_WRITE_MAX bytes in parts; the first one is all that such a call does, as others
 * may take what follows it. All functions are thread-safe.
 */

/* The operation open (handle_ops.h) of a file behind a shared file pointer. */
int fs_shared_open(struct fs_session *session, fuse_ino_t inode, pid_t thread,
                   struct fs_handle *handle, struct fuse_file_info *info);

/*
 * Takes the etypes of size bytes, a multiple of them, from the pointer of a slice "shared" for a
 * share, or MPIIO_POINTERS_ANYBODY: *offset becomes the slice offset. 0 or a negative errno.
 */
int fs_shared_take(struct fs_session *session, const struct fs_slice *slice, uint64_t share,
                   size_t size, off_t *offset);

/*
 * MPI_File_seek_shared with MPI_SEEK_SET: text, of length characters, is a decimal number of
 * etypes. 0 or a negative errno; -EINVAL: it is none.
 */
int fs_shared_seek(struct fs_session *session, struct fs_node node, const char *text,
                   size_t length);

#endif
