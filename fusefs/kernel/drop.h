/* SPDX-License-Identifier: MIT */
#ifndef FS_DROP_H
#define FS_DROP_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>

#include "fusefs/base/fifo.h"
#include "fusefs/names/slices.h"

struct fs_session;
struct fs_drop;

/*
 * drop.c: drops, notifications that make the kernel invalidate pages of a slice, by the number that
 * it is open by. The kernel writes back dirty pages first. A drop is repeated if the kernel reads
 * stale pages during it (fusefs/names/stale.h).
 */

/* Answers the request of a drop. error is the result of the drop: 0 or a negative errno. */
typedef void fs_dropped(struct fs_session *session, const struct fs_drop *drop, int error);

/* A drop of pages. A drop without a slice invalidates nothing, and only answers a request after all
   earlier drops. */
struct fs_drop {
    struct fs_task task;    /* must be the first member */
    struct fs_slice *slice; /* a reference while the drop is queued; NULL: no pages */
    off_t offset;           /* start of the pages */
    size_t length;          /* length of the pages; 0: all from offset on */
    fs_dropped *done;       /* called after the drop; NULL: there is no request to answer */

    /* Arguments for done. drop.c does not use them. */
    fuse_req_t request;
    struct fs_handle *handle;
    struct fs_version version;
    struct fuse_file_info info;
    uint64_t nonce; /* of the request for a grant */
    unsigned
        number; /* the value of the slice's paged that this drop clears (fs_grants_await_drop) */
};

/*
 * A thread that carries out drops in the order in which they were queued. While the kernel
 * invalidates pages, it waits for reads in progress, which other threads must be free to answer. So
 * no request handler drops pages itself. A session has two such threads:
 *
 * The notifier answers requests after drops, for example an fsync. No request handler waits for it.
 *
 * The dropper carries out drops that writers wait for, for a limited time. It has a thread of its
 * own, because the notifier may be blocked on a page that is locked for such a write.
 */
struct fs_dropper {
    struct fs_session *session; /* borrowed */
    struct fs_fifo fifo;        /* drained while workers still answer, or after the unmount */
    _Atomic uint64_t dropped;   /* number of times that pages were dropped, for statistics */

    pthread_mutex_t lock; /* acquired before the fifo's lock */
    pthread_cond_t changed;
    uint64_t queued, finished; /* numbers of drops; lock: lock */
};

/* fs_dropper_init does not start the fifo's thread. Call fs_dropper_free after that thread has
   ended. */
void fs_dropper_init(struct fs_dropper *dropper, struct fs_session *session);
void fs_dropper_free(struct fs_dropper *dropper);

/*
 * Carries out a drop, but does not call done. The caller holds a reference to the slice. Waits
 * until requests that lock the pages are answered, so threads that answer requests must not call
 * it. Returns 0 or a negative errno. Thread-safe.
 */
int fs_drop_pages(struct fs_session *session, const struct fs_drop *drop);

/*
 * Queues a copy of a drop, and keeps a reference to its slice. Returns 0, or a negative errno if it
 * was not queued (-ENOTCONN: the thread has ended). Thread-safe; does not wait.
 */
int fs_drop_queue(struct fs_dropper *dropper, const struct fs_drop *drop);

/*
 * Queues a drop of all pages of a slice, and counts it. Returns false if memory is short or the
 * thread has ended. Thread-safe; does not wait.
 */
bool fs_drop_later(struct fs_dropper *notifier, struct fs_slice *slice);

/*
 * Makes the kernel invalidate the pages of length bytes (0: all) of a slice, from offset on. Waits
 * up to 2 s, or up to 20 ms if a page may be locked for the caller's own request (!sure). The drop
 * continues after that. For threads that answer requests. Thread-safe.
 */
void fs_drop_range(struct fs_dropper *dropper, struct fs_slice *slice, off_t offset, size_t length,
                   bool sure);

/*
 * Invalidates pages that may lack the bytes of a write through the slice's pages. Call it between
 * the write of length bytes (0: it failed) at offset and its answer. Waits up to 2 s. Thread-safe.
 */
void fs_drop_written(struct fs_dropper *dropper, struct fs_slice *slice, off_t offset,
                     size_t length);

/*
 * overlaps.c: slices that show the same bytes of the file. They may belong to other views, to other
 * ranks if these overlap, or be the same slice with a NumPy header. To the kernel each is a
 * separate file.
 */
struct fs_overlaps {
    struct fs_slices *slices; /* borrowed, as is notifier */
    struct fs_dropper *notifier;
    atomic_int *known; /* by view: what is known; initially zeros; owned */
};

/*
 * Makes the notifier invalidate the pages of other slices that are open for reading and show some
 * of the bytes [offset, offset + length) of a slice's data. Call it after a write of these bytes.
 * If length is 0, invalidates the pages of the slice itself and of all slices that may share bytes
 * with it. Does not wait; the notifier carries out later drops after these. Returns the number of
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
