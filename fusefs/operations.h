/* SPDX-License-Identifier: MIT */
#ifndef FS_OPERATIONS_H
#define FS_OPERATIONS_H

#include <stdio.h>

#include "session.h"

/*
 * The request handlers, by the file that they are in. As libfuse's low-level API has it, each
 * answers its request exactly once: a do_x makes the answer or returns a negative errno, and
 * fs_x replies.
 */

/* attributes.c */
void fs_lookup(fuse_req_t request, fuse_ino_t parent, const char *name);
void fs_getattr(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info);
void fs_setattr(fuse_req_t request, fuse_ino_t inode, struct stat *wanted, int which,
                struct fuse_file_info *info);
void fs_access(fuse_req_t request, fuse_ino_t inode, int mask);
void fs_statfs(fuse_req_t request, fuse_ino_t inode);

/* folder.c */
void fs_opendir(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info);
void fs_readdir(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
                struct fuse_file_info *info);
void fs_readdirplus(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
                    struct fuse_file_info *info);

/* file.c */
void fs_open(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info);
void fs_read(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
             struct fuse_file_info *info);
void fs_flush(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info);
void fs_release(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info);
void fs_lseek(fuse_req_t request, fuse_ino_t inode, off_t offset, int whence,
              struct fuse_file_info *info);

/* write.c */
void fs_write(fuse_req_t request, fuse_ino_t inode, const char *buffer, size_t size, off_t offset,
              struct fuse_file_info *info);
void fs_fallocate(fuse_req_t request, fuse_ino_t inode, int mode, off_t offset, off_t length,
                  struct fuse_file_info *info);
void fs_fsync(fuse_req_t request, fuse_ino_t inode, int datasync, struct fuse_file_info *info);

/* sync.c; on the mount point it is fs_sync_all */
void fs_fsyncdir(fuse_req_t request, fuse_ino_t inode, int datasync, struct fuse_file_info *info);

/* link.c */
void fs_readlink(fuse_req_t request, fuse_ino_t inode);

/* xattr.c */
void fs_getxattr(fuse_req_t request, fuse_ino_t inode, const char *name, size_t size);
void fs_listxattr(fuse_req_t request, fuse_ino_t inode, size_t size);
void fs_setxattr(fuse_req_t request, fuse_ino_t inode, const char *name, const char *value,
                 size_t size, int flags);
void fs_removexattr(fuse_req_t request, fuse_ino_t inode, const char *name);

/* What handlers share. */

/* Answers an open; the handle is freed where it was given up meanwhile. file.c; thread-safe. */
void fs_open_reply(struct fs_session *session, fuse_req_t request,
                   const struct fuse_file_info *info);

/*
 * Whether folders are listed with what stat tells of each slice. Then the kernel goes by that for a
 * moment without asking: fs_listed_entry fills in what it is told of a slice, or leaves entry as it
 * is where that is not known; fs_listed_forget, when a slice is opened, has it ask for the size
 * again if a folder was listed just before. folder.c, attributes.c; thread-safe.
 */
bool fs_lists_attributes(const struct fs_session *session);
void fs_listed_entry(struct fs_session *session, struct fs_node node,
                     struct fuse_entry_param *entry);
void fs_listed_forget(struct fs_session *session, fuse_ino_t inode);

/*
 * A reference to the slice of node. A view that does not compile gives -EIO and a line in the log.
 * attributes.c; thread-safe.
 */
int fs_slice_of(struct fs_session *session, struct fs_node node, struct fs_slice **slice);

/*
 * The rank of a process in MPI_COMM_WORLD, from its environment: -ENOENT without one, or where the
 * mount has none such. link.c; thread-safe.
 */
int64_t fs_self_rank(struct fs_session *session, pid_t process);

/* The shared file's version now. 0 or a negative errno. sync.c; thread-safe. */
int fs_version_now(struct fs_session *session, struct fs_version *version);

/*
 * The kernel tells that the file could not be stored to the first who asks, and only once; but
 * everyone who has written must hear of it. fs_sync_handle is the fsync of one handle, and
 * fs_sync_missed the error, if any, that an fsync for another one met and this one was not told;
 * fs_sync_written notes that something was written. 0 or a negative errno. sync.c; thread-safe.
 */
struct fs_handle;
int fs_sync_handle(struct fs_session *session, struct fs_handle *handle, bool data_only);
int fs_sync_missed(struct fs_session *session, struct fs_handle *handle);
void fs_sync_written(struct fs_session *session, struct fs_handle *handle);

/* fsync(2) of the file itself; fs_sync_failed takes note of a failure. sync.c; thread-safe. */
int fs_sync_file(struct fs_session *session, bool data_only);
void fs_sync_failed(struct fs_session *session, int error);

/*
 * Has a flush begin, and the waiter, which is copied, told of its end. 0 or a negative errno, and
 * then it is not. sync.c; thread-safe.
 */
struct fs_waiter;
int fs_flush_first(struct fs_session *session, const struct fs_waiter *waiter);

/* The error, if any, of what write-back could not store of the handle's slice. sync.c. */
struct fs_handle;
int fs_flush_error(struct fs_session *session, const struct fs_handle *handle);

/* What an fsync of a handle tells, that of the file being over with failed. sync.c; thread-safe. */
int fs_sync_told(struct fs_session *session, struct fs_handle *handle, int failed);

/*
 * Takes note that bytes which the kernel held back cannot be stored, for the reason error
 * (negative): it has forgotten them. sync.c; thread-safe.
 */
void fs_lost(struct fs_session *session, const struct fs_slice *slice, const char *bytes,
             size_t length, int64_t offset, int error);

/* Stores what was lost, as far as it is kept and can be stored now. write.c; thread-safe. */
void fs_store_lost(struct fs_session *session);

/*
 * Elements that were written in parts and are not complete (mpiio_slice_settle): fs_settle stores
 * those that have a value in the file, before the next flush, and returns 0 or the negative errno
 * of one that has none; fs_give_up is for when no one has the slice open for writing any more, and
 * logs what is lost; called where a handle is freed, it does not wait for the kernel. sync.c;
 * thread-safe.
 */
int fs_settle(struct fs_session *session, const struct fs_slice *slice);
void fs_give_up(struct fs_session *session, struct fs_slice *slice);

/* Writes text as JSON does; its bytes count as Latin-1. stats.c */
void fs_stats_string(FILE *out, const char *text);

/* The present text of stats.json: new, the caller's to free(); NULL without memory. stats.c */
char *fs_stats_text(struct fs_session *session);

/*
 * Has the kernel read ahead in requests of full size, where this process may say so. Call it when
 * the mount serves: the answer to INIT sets the value back. Best effort. readahead.c
 */
void fs_readahead_raise(const char *mountpoint, unsigned bytes);

#endif
