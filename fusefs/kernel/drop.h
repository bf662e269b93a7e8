/* SPDX-License-Identifier: MIT */
#ifndef FS_DROP_H
#define FS_DROP_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>

#include "fusefs/base/fifo.h"
#include "fusefs/base/workers.h"
#include "fusefs/names/slices.h"

/* Having the kernel drop pages of a slice, and doing so again where it read some of them too early
   (fusefs/names/refills.h). */

/*
 * A thread of its own for what writers wait for: the notifier may wait for a page that is locked
 * for such a write.
 */
struct fs_dropper {
    struct fs_slices *slices;   /* borrowed, as is what follows */
    struct fs_workers *workers; /* of the threads that answer requests */
    struct fuse_session *fuse;  /* set by the caller once it is there */
    struct fs_fifo fifo;        /* of drops */
    _Atomic uint64_t dropped;   /* how often pages were dropped for a write */
};

/* Sets it up, without the fifo's thread. */
void fs_dropper_init(struct fs_dropper *dropper, struct fs_slices *slices,
                     struct fs_workers *workers);

/*
 * Has the kernel drop the pages of length bytes (0: all) from offset on of a slice, which is
 * referenced and known to the kernel by that number. Waits until requests that lock them are
 * answered: not for threads that answer requests. 0 or a negative errno. Thread-safe.
 */
int fs_drop_pages(struct fs_dropper *dropper, struct fs_slice *slice, fuse_ino_t inode,
                  off_t offset, size_t length);

/*
 * Has the kernel drop the pages of length bytes (0: all) from offset on of a slice, and waits for
 * that: up to two seconds or, if a page may be locked for the caller's own request (!sure), up to
 * 20 ms. The drop goes on after that. For threads that answer requests. Thread-safe.
 */
void fs_drop_range(struct fs_dropper *dropper, struct fs_slice *slice, fuse_ino_t inode,
                   off_t offset, size_t length, bool sure);

/*
 * A write through the slice's pages is done, of length bytes (0: it failed) at offset, and is to be
 * answered: pages that may lack the bytes are dropped first. Waits for that, up to two seconds.
 * Thread-safe.
 */
void fs_drop_written(struct fs_dropper *dropper, struct fs_slice *slice, fuse_ino_t inode,
                     off_t offset, size_t length);

#endif
