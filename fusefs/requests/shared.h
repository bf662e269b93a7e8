/* SPDX-License-Identifier: MIT */
#ifndef FS_SHARED_H
#define FS_SHARED_H

#include "fusefs/names/handle.h"

struct fs_session;

/*
 * Reads and writes of "shared". Each transfers as many whole etypes as its buffer holds, at the
 * shared file pointer, and advances the pointer. The kernel splits a call of more than FS_READ_MAX
 * (max_read) or FS_WRITE_MAX bytes. Only its first part takes effect, because other callers may
 * take the etypes after it. All functions are thread-safe.
 */

/* Opens a file with a shared file pointer. Implements open of handle_ops.h. */
int fs_shared_open(struct fs_session *session, fuse_ino_t inode, pid_t thread,
                   struct fs_handle *handle, struct fuse_file_info *info);

/*
 * Takes size bytes, a multiple of the etype, from the pointer of a slice "shared". share is a
 * contribution or MPIIO_POINTERS_ANYBODY. Sets *offset to their slice offset. Returns 0 or a
 * negative errno; -ETIMEDOUT as mpiio_pointers_take.
 */
int fs_shared_take(struct fs_session *session, const struct fs_slice *slice, uint64_t share,
                   size_t size, off_t *offset);

/*
 * Moves the pointer like MPI_File_seek_shared with MPI_SEEK_SET. text, of length characters, is a
 * decimal number of etypes. Returns 0 or a negative errno, -EINVAL if text is no such number.
 */
int fs_shared_seek(struct fs_session *session, struct fs_node node, const char *text,
                   size_t length);

#endif
