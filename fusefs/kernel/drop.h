/* SPDX-License-Identifier: MIT */
#ifndef FS_DROP_H
#define FS_DROP_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>

#include "fusefs/base/fifo.h"
#include "fusefs/base/workers.h"
#include "fusefs/names/slices.h"

/*
 * Drops: notifications that make the kernel invalidate pages of a slice. The kernel writes back
 * dirty pages first. A drop is repeated if the kernel reads stale pages during it
 * (fusefs/names/stale.h).
 */

/*
 * The thread for drops that writers wait for. It is not the notifier's thread, which may wait for a
 * page that is locked for such a write.
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

#endif
