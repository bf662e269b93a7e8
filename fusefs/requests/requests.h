/* SPDX-License-Identifier: MIT */
#ifndef FS_REQUESTS_H
#define FS_REQUESTS_H

#include "fusefs/session.h"

/* operations.c: the operations for fuse_session_new. */
extern const struct fuse_lowlevel_ops fs_operations;

/*
 * The request handlers, each with the operation that it implements. As libfuse's low-level API
 * requires, each answers its request exactly once. In each pair, do_x prepares the answer or
 * returns a negative errno, and fs_x replies.
 */
#define FS_HANDLERS(HANDLER)                                                                       \
    /* handles.c: open files. Each finds the handle, calls its operation (handle_ops.h), and       \
       replies. */                                                                                 \
    HANDLER(open, fs_open)                                                                         \
    HANDLER(read, fs_read)                                                                         \
    HANDLER(write, fs_write)                                                                       \
    HANDLER(lseek, fs_lseek)                                                                       \
    HANDLER(fallocate, fs_fallocate)                                                               \
    HANDLER(fsync, fs_fsync)                                                                       \
    HANDLER(flush, fs_flush)                                                                       \
    HANDLER(release, fs_release)                                                                   \
    /* ioctl.c: requests of mpiio-run. */                                                          \
    HANDLER(ioctl, fs_ioctl)                                                                       \
    /* lookup.c: names and attributes. */                                                          \
    HANDLER(lookup, fs_lookup)                                                                     \
    HANDLER(getattr, fs_getattr)                                                                   \
    HANDLER(setattr, fs_setattr)                                                                   \
    HANDLER(access, fs_access)                                                                     \
    HANDLER(statfs, fs_statfs)                                                                     \
    HANDLER(readlink, fs_readlink)                                                                 \
    /* readdir.c: folders. */                                                                      \
    HANDLER(opendir, fs_opendir)                                                                   \
    HANDLER(readdir, fs_readdir)                                                                   \
    HANDLER(readdirplus, fs_readdirplus)                                                           \
    HANDLER(fsyncdir, fs_fsyncdir)                                                                 \
    /* xattr.c: extended attributes. */                                                            \
    HANDLER(getxattr, fs_getxattr)                                                                 \
    HANDLER(listxattr, fs_listxattr)                                                               \
    HANDLER(setxattr, fs_setxattr)                                                                 \
    HANDLER(removexattr, fs_removexattr)

/* Declares a handler, with the type of the operation. */
#define FS_DECLARE(operation, handler) __typeof__(*fs_operations.operation) handler;
FS_HANDLERS(FS_DECLARE)

/*
 * lookup.c: fills in the attributes of a slice for a listing (fs_lists_attributes), or leaves entry
 * unchanged if they are unknown. Thread-safe.
 */
void fs_listed_entry(struct fs_session *session, struct fs_node node,
                     struct fuse_entry_param *entry);

/*
 * lookup.c: makes the kernel request the size of a slice that is opened just after it was listed.
 * Thread-safe.
 */
void fs_listed_forget(struct fs_session *session, fuse_ino_t inode);

/*
 * readdir.c: returns true if listings include the attributes of each slice, which the kernel then
 * caches for a moment. Thread-safe.
 */
bool fs_lists_attributes(const struct fs_session *session);

/*
 * stats.c: returns the current text of stats.json, which the caller frees by free(); NULL if out of
 * memory.
 */
char *fs_stats_text(struct fs_session *session);

#endif
