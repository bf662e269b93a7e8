/* SPDX-License-Identifier: MIT */
#ifndef FS_NOTIFIER_H
#define FS_NOTIFIER_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>

#include "drop.h"
#include "fusefs/base/fifo.h"
#include "fusefs/names/slices.h"

struct fs_session;

/* What the notifier does for others when the kernel has done its part. */
struct fs_notifier_calls {
    /* The answer to an open, which was waited for. */
    void (*opened)(struct fs_session *session, fuse_req_t request,
                   const struct fuse_file_info *info);
    /* Answers who asks for a grant of a slice that the kernel has no pages of now. */
    void (*asked)(struct fs_session *session, fuse_req_t request, struct fs_handle *handle);
    /* Stores all: 0 or a negative errno. */
    int (*sync_all)(struct fs_session *session);
};

/*
 * The thread that tells the kernel to drop the pages of a slice. The kernel waits there for reads
 * in flight, which other threads must be free to answer: so no request handler may do it, and
 * none waits for it either. An fsync is handed over and answered from this thread.
 */
struct fs_notifier {
    struct fs_session *session; /* borrowed, as is what follows */
    struct fs_slices *slices;
    struct fs_dropper *dropper;
    struct fs_notifier_calls calls;
    struct fs_fifo fifo; /* of notices; drained while others go on answering, or without a mount */
    _Atomic uint64_t dropped; /* how often pages were dropped on our own account */
};

/* Sets it up, without the fifo's thread. */
void fs_notifier_init(struct fs_notifier *notifier, struct fs_session *session,
                      struct fs_dropper *dropper, struct fs_notifier_calls calls);

/*
 * Has the pages of slice, which the kernel knows by the number inode, dropped, and counts that;
 * references the slice until then. Returns false, and drops nothing, without memory or if the
 * notifier has ended. Thread-safe; does not wait.
 */
bool fs_notifier_drop(struct fs_notifier *notifier, struct fs_slice *slice, fuse_ino_t inode);

/*
 * The same for request, which is answered with success when the pages are dropped; version, sampled
 * before this call, then becomes that of the slice's pages. Returns 0, or a negative errno: then
 * nothing was taken over (-ENOTCONN: the notifier has ended). Thread-safe; does not wait.
 */
int fs_notifier_refresh(struct fs_notifier *notifier, struct fs_slice *slice, fuse_ino_t inode,
                        fuse_req_t request, const struct fs_version *version);

/*
 * The same for request, an open, which is answered with info after the kernel has sent what it
 * holds back of the slice.
 */
int fs_notifier_open(struct fs_notifier *notifier, struct fs_slice *slice, fuse_ino_t inode,
                     fuse_req_t request, const struct fuse_file_info *info);

/* The same for request, by which one who has the slice open by handle asks for a grant. */
int fs_notifier_ask(struct fs_notifier *notifier, struct fs_handle *handle, fuse_ino_t inode,
                    fuse_req_t request);

/*
 * Has the pages of length bytes from offset on dropped and then request, a write of the slice, told
 * that it wrote as many. Else as fs_notifier_refresh.
 */
int fs_notifier_wrote(struct fs_notifier *notifier, struct fs_slice *slice, fuse_ino_t inode,
                      fuse_req_t request, off_t offset, size_t length);

/* Has request answered with the result of sync_all. Else as fs_notifier_refresh. */
int fs_notifier_sync(struct fs_notifier *notifier, fuse_req_t request);

#endif
