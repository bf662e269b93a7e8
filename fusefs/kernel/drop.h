/* SPDX-License-Identifier: MIT */
#ifndef FS_DROP_H
#define FS_DROP_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>

#include "fusefs/base/fifo.h"
#include "fusefs/base/workers.h"
#include "fusefs/names/slices.h"

struct fs_session;

/*
 * Drops: notifications that make the kernel invalidate pages of a slice. The kernel writes back
 * dirty pages first. A drop is repeated if the kernel reads stale pages during it
 * (fusefs/names/stale.h).
 */

/*
 * drop.c: the thread for drops that writers wait for. It is not the notifier's thread, which may
 * wait for a page that is locked for such a write.
 */
struct fs_dropper {
    struct fs_slices *slices;   /* borrowed, as are the next two */
    struct fs_workers *workers; /* the threads that answer requests */
    struct fuse_session *fuse;  /* set by the caller once it exists */
    struct fs_fifo fifo;        /* the queue of drops */
    _Atomic uint64_t dropped;   /* number of times that pages were invalidated for a write */
};

/* Initializes the dropper without starting the fifo's thread. */
void fs_dropper_init(struct fs_dropper *dropper, struct fs_slices *slices,
                     struct fs_workers *workers);

/*
 * Makes the kernel invalidate the pages of length bytes (0: all) of a slice, from offset on. The
 * caller holds a reference to the slice. inode is the number by which the kernel knows it. Waits
 * until requests that lock the pages are answered, so threads that answer requests must not call
 * it. Returns 0 or a negative errno. Thread-safe.
 */
int fs_drop_pages(struct fs_dropper *dropper, struct fs_slice *slice, fuse_ino_t inode,
                  off_t offset, size_t length);

/*
 * Makes the kernel invalidate the pages of length bytes (0: all) of a slice, from offset on. Waits
 * up to 2 s, or up to 20 ms if a page may be locked for the caller's own request (!sure). The drop
 * continues after that. For threads that answer requests. Thread-safe.
 */
void fs_drop_range(struct fs_dropper *dropper, struct fs_slice *slice, fuse_ino_t inode,
                   off_t offset, size_t length, bool sure);

/*
 * Invalidates pages that may lack the bytes of a write through the slice's pages. Call it between
 * the write of length bytes (0: it failed) at offset and its answer. Waits up to 2 s. Thread-safe.
 */
void fs_drop_written(struct fs_dropper *dropper, struct fs_slice *slice, fuse_ino_t inode,
                     off_t offset, size_t length);

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
 * notifier.c: the thread that makes the kernel invalidate the pages of a slice. The kernel waits
 * there for reads in progress, which other threads must be free to answer. So no request handler
 * notifies the kernel itself or waits for this thread. Instead, a handler passes the request, for
 * example an fsync, and this thread answers it.
 */
struct fs_notifier {
    struct fs_session *session; /* borrowed, as is dropper */
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

/*
 * overlaps.c: slices that show the same bytes of the file. They may belong to other views, to other
 * ranks if these overlap, or be the same slice with a NumPy header. To the kernel each is a
 * separate file.
 */
struct fs_overlaps {
    struct fs_slices *slices; /* borrowed, as is notifier */
    struct fs_notifier *notifier;
    atomic_int *known; /* by view: what is known; initially zeros; owned */
};

/*
 * Makes the notifier invalidate the pages of other slices that are open for reading and show some
 * of the bytes [offset, offset + length) of a slice's data. Call it after a write of these bytes.
 * Does not wait; the notifier handles later notices after these drops. Returns the number of
 * slices. Thread-safe.
 */
size_t fs_overlaps_drop(struct fs_overlaps *overlaps, struct fs_slice *slice, int64_t offset,
                        int64_t length);

/* Returns false if two ranks of a view are known to show the same byte. Computes nothing. */
bool fs_overlaps_may_be_disjoint(const struct fs_overlaps *overlaps, size_t view);

/*
 * Sets *disjoint to true if no two slices of a view show the same byte of the file. If that is too
 * costly to find out, sets false. The first search takes a fraction of a second at most. Returns 0
 * or -ENOMEM. Thread-safe.
 */
int fs_overlaps_disjoint(struct fs_overlaps *overlaps, size_t view, bool *disjoint);

/*
 * Sets *inside if a slice of the view has an order of its own and the file, of size bytes, ends
 * within one of its tiles. Then the file may have bytes behind the slice's end. Returns 0 or a
 * negative errno, as size is if the file's size is not known.
 */
int fs_overlaps_ends_inside(const struct fs_tree *tree, size_t view, int64_t size, bool *inside);

#endif
