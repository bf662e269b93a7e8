/* SPDX-License-Identifier: MIT */
#ifndef FS_NOTIFIER_H
#define FS_NOTIFIER_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>

#include "drop.h"
#include "fusefs/base/fifo.h"
#include "fusefs/names/slices.h"

struct fs_session;

/* Callbacks to other modules after the kernel has answered a notification. */
struct fs_notifier_calls {
    /* Answers an open that was handed to fs_notifier_open. */
    void (*opened)(struct fs_session *session, fuse_req_t request,
                   const struct fuse_file_info *info);
    /* Answers a request for a grant, after the kernel has invalidated the slice's pages. */
    void (*asked)(struct fs_session *session, fuse_req_t request, struct fs_handle *handle);
    /* Stores everything. Returns 0 or a negative errno. */
    int (*sync_all)(struct fs_session *session);
};

/*
 * The thread that makes the kernel invalidate the pages of a slice. The kernel waits there for
 * reads in progress, which other threads must be free to answer. So no request handler notifies the
 * kernel itself or waits for this thread. Instead, a handler passes the request, for example an
 * fsync, and this thread answers it.
 */
struct fs_notifier {
    struct fs_session *session; /* borrowed, as are the next two */
    struct fs_slices *slices;
    struct fs_dropper *dropper;
    struct fs_notifier_calls calls;
    struct fs_fifo fifo; /* notices; drained while workers still answer, or after the unmount */
    _Atomic uint64_t dropped; /* number of queued drops, for statistics */
};

/* Initializes the notifier without starting the fifo's thread. */
void fs_notifier_init(struct fs_notifier *notifier, struct fs_session *session,
                      struct fs_dropper *dropper, struct fs_notifier_calls calls);

/*
 * Queues a drop of all pages of slice, which the kernel knows by the number inode, and counts it.
 * Keeps a reference to the slice until then. Returns false if memory is short or the notifier has
 * ended. Thread-safe; does not wait.
 */
bool fs_notifier_drop(struct fs_notifier *notifier, struct fs_slice *slice, fuse_ino_t inode);

/*
 * Queues the same drop, and answers request with success after it. version, sampled before this
 * call, then becomes the version of the slice's pages. Returns 0, or a negative errno if nothing
 * was queued (-ENOTCONN: the notifier has ended). Thread-safe; does not wait.
 */
int fs_notifier_refresh(struct fs_notifier *notifier, struct fs_slice *slice, fuse_ino_t inode,
                        fuse_req_t request, const struct fs_version *version);

/*
 * Like fs_notifier_refresh for an open: answers request with info after the kernel has sent the
 * dirty pages of the slice.
 */
int fs_notifier_open(struct fs_notifier *notifier, struct fs_slice *slice, fuse_ino_t inode,
                     fuse_req_t request, const struct fuse_file_info *info);

/*
 * Like fs_notifier_refresh, for a request that asks for a grant of the slice that handle has open.
 */
int fs_notifier_ask(struct fs_notifier *notifier, struct fs_handle *handle, fuse_ino_t inode,
                    fuse_req_t request);

/*
 * Queues a drop of the pages of length bytes from offset on. Then answers request, a write of the
 * slice, with that length. Otherwise like fs_notifier_refresh.
 */
int fs_notifier_wrote(struct fs_notifier *notifier, struct fs_slice *slice, fuse_ino_t inode,
                      fuse_req_t request, off_t offset, size_t length);

/* Queues sync_all, whose result answers request. Otherwise like fs_notifier_refresh. */
int fs_notifier_sync(struct fs_notifier *notifier, fuse_req_t request);

#endif
