/* SPDX-License-Identifier: MIT */
#ifndef FS_DROP_H
#define FS_DROP_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>

#include "fusefs/base/fifo.h"
#include "fusefs/base/workers.h"
#include "fusefs/names/slices.h"

/* Has the kernel drop pages of a slice, and again if it read some of them too early
   (fusefs/names/refills.h). */

/*
 * A thread for drops that writers wait for. It is not the notifier's, which may wait for a page
 * that is locked for such a write.
 */
struct fs_dropper {
    struct fs_slices *slices;   /* borrowed, as are the next two */
    struct fs_workers *workers; /* the threads that answer requests */
    struct fuse_session *fuse;  /* set by the caller once it exists */
    struct fs_fifo fifo;        /* of drops */
    _Atomic uint64_t dropped;   /* times that pages were dropped for a write */
};

/* Initialises the dropper, without the fifo's thread. */
void fs_dropper_init(struct fs_dropper *dropper, struct fs_slices *slices,
                     struct fs_workers *workers);

/*
 * Has the kernel drop the pages of length bytes (0: all) from offset on of a slice. The caller has
 * referenced the slice, and the kernel knows it by inode. Waits until requests that lock them are
 * answered, so threads that answer requests must not call it. Returns 0 or a negative errno.
 * Thread-safe.
 */
int fs_drop_pages(struct fs_dropper *dropper, struct fs_slice *slice, fuse_ino_t inode,
                  off_t offset, size_t length);

/*
 * Has the kernel drop the pages of length bytes (0: all) from offset on of a slice. Waits for that
 * up to two seconds, or 20 ms if a page may be locked for the caller's own request (!sure). The
 * drop goes on after that. For threads that answer requests. Thread-safe.
 */
void fs_drop_range(struct fs_dropper *dropper, struct fs_slice *slice, fuse_ino_t inode,
                   off_t offset, size_t length, bool sure);

/*
 * Drops pages that may lack the bytes of a write through the slice's pages. Called between the
 * write of length bytes (0: it failed) at offset and its answer. Waits up to two seconds.
 * Thread-safe.
 */
void fs_drop_written(struct fs_dropper *dropper, struct fs_slice *slice, fuse_ino_t inode,
                     off_t offset, size_t length);

#endif
