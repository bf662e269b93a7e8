/* SPDX-License-Identifier: MIT */
#ifndef FS_REQUESTS_H
#define FS_REQUESTS_H

#include "fusefs/session.h"

/*
 * The request handlers. As libfuse's low-level API requires, each answers its request exactly once.
 * In each pair, do_x prepares the answer or returns a negative errno, and fs_x replies.
 */

/* operations.c: the operations for fuse_session_new. */
extern const struct fuse_lowlevel_ops fs_operations;

/*
 * handles.c: open files. Each handler finds the handle, calls its operation (handle_ops.h), and
 * replies.
 */
void fs_open(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info);
void fs_read(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
             struct fuse_file_info *info);
void fs_write(fuse_req_t request, fuse_ino_t inode, const char *buffer, size_t size, off_t offset,
              struct fuse_file_info *info);
void fs_lseek(fuse_req_t request, fuse_ino_t inode, off_t offset, int whence,
              struct fuse_file_info *info);
void fs_fallocate(fuse_req_t request, fuse_ino_t inode, int mode, off_t offset, off_t length,
                  struct fuse_file_info *info);
void fs_fsync(fuse_req_t request, fuse_ino_t inode, int datasync, struct fuse_file_info *info);
void fs_flush(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info);
void fs_release(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info);

/* ioctl.c: requests of mpiio-run. */
void fs_ioctl(fuse_req_t request, fuse_ino_t inode, unsigned command, void *argument,
              struct fuse_file_info *info, unsigned flags, const void *in, size_t in_size,
              size_t out_size);

/* lookup.c: names and attributes. */
void fs_lookup(fuse_req_t request, fuse_ino_t parent, const char *name);
void fs_getattr(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info);
void fs_setattr(fuse_req_t request, fuse_ino_t inode, struct stat *wanted, int which,
                struct fuse_file_info *info);
void fs_access(fuse_req_t request, fuse_ino_t inode, int mask);
void fs_statfs(fuse_req_t request, fuse_ino_t inode);
void fs_readlink(fuse_req_t request, fuse_ino_t inode);

/*
 * Fills in the attributes of a slice for a listing (fs_lists_attributes), or leaves entry unchanged
 * if they are unknown. Thread-safe.
 */
void fs_listed_entry(struct fs_session *session, struct fs_node node,
                     struct fuse_entry_param *entry);

/*
 * Makes the kernel request the size of a slice that is opened just after it was listed.
 * Thread-safe.
 */
void fs_listed_forget(struct fs_session *session, fuse_ino_t inode);

/* readdir.c: folders. */
void fs_opendir(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info);
void fs_readdir(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
                struct fuse_file_info *info);
void fs_readdirplus(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
                    struct fuse_file_info *info);
void fs_fsyncdir(fuse_req_t request, fuse_ino_t inode, int datasync, struct fuse_file_info *info);

/*
 * Returns true if listings include the attributes of each slice, which the kernel then caches for a
 * moment. Thread-safe.
 */
bool fs_lists_attributes(const struct fs_session *session);

/* xattr.c: extended attributes. */
void fs_getxattr(fuse_req_t request, fuse_ino_t inode, const char *name, size_t size);
void fs_listxattr(fuse_req_t request, fuse_ino_t inode, size_t size);
void fs_setxattr(fuse_req_t request, fuse_ino_t inode, const char *name, const char *value,
                 size_t size, int flags);
void fs_removexattr(fuse_req_t request, fuse_ino_t inode, const char *name);

/*
 * stats.c: returns the current text of stats.json, which the caller frees by free(); NULL if out of
 * memory.
 */
char *fs_stats_text(struct fs_session *session);

#endif
