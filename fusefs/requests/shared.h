/* SPDX-License-Identifier: MIT */
#ifndef FS_SHARED_H
#define FS_SHARED_H

#include "fusefs/names/handle.h"

struct fs_session;
struct mounts_ending;

/*
 * shared.c: reads and writes of "shared". Each transfers as many whole etypes as its buffer holds,
 * at the shared file pointer, and advances the pointer. The kernel splits a call of more than
 * FS_READ_MAX (max_read) or FS_WRITE_MAX bytes. Only its first part takes effect, because other
 * callers may take the etypes after it. All functions are thread-safe.
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

/*
 * ordered.c: reads and writes of "ordered", at the shared file pointer in rank order
 * (pointers/ordered.h). Each open file has one contribution.
 */

/* Initializes "ordered" if the mount has shared file pointers. Returns 0 or a negative errno. */
int fs_ordered_init(struct fs_session *session);

/* Ends all waits, so that the workers can exit. data is the session. Thread-safe. */
void fs_ordered_stop(void *data);

/*
 * Places the contributions that still wait, and logs how much was placed before its turn. Unless
 * nodes have failed, waits until the other nodes have placed and stored theirs. Call it when all
 * nodes are unmounted or one has failed. report is for mpiio-umount, or NULL.
 */
void fs_ordered_finish(struct fs_session *session, struct mounts_ending *report);

/*
 * Waits a moment for releases of a view that may be in progress, because close(2) does not wait for
 * them. Slices then show the bytes that they placed. Thread-safe.
 */
void fs_ordered_await_releases(struct fs_session *session, size_t view);

/*
 * sequential.c: the mount option sequential (MPI_MODE_SEQUENTIAL, MPI 3.1, 13.2.1). The file is a
 * FIFO or a character device (pointers/stream.h), and the mount has only "shared" and "ordered".
 * The store is an empty file in memory.
 */

/*
 * Checks that the options and the file are suitable, and creates the store. Returns an exit status:
 * 0, or not 0 after a line on stderr.
 */
int fs_sequential_prepare(struct fs_session *session);

/*
 * Checks the views, which are known by now, and opens the file. Does nothing without the option.
 * Returns an exit status like fs_sequential_prepare.
 */
int fs_sequential_open(struct fs_session *session);

/*
 * Writes all of the buffer, which holds whole etypes. Until something is written, request may be
 * interrupted; NULL: no interruption. Returns 0 or a negative errno. Thread-safe.
 */
int fs_sequential_place(struct fs_session *session, fuse_req_t request, const char *buffer,
                        size_t size);

#endif
