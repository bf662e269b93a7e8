/* SPDX-License-Identifier: MIT */
#ifndef FS_NPY_H
#define FS_NPY_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>

#include "fusefs/names/slices.h"

struct fs_notifier;

/*
 * The NumPy header before a slice. It is made up from the slice's size whenever it is read: nothing
 * of it is stored. Offsets count from the beginning of the header; all functions are thread-safe.
 */

/* How many of the size bytes from offset on belong to the header: 0 where there is none. */
size_t fs_npy_part(const struct fs_slice *slice, int64_t offset, size_t size);

/* Copies that part of the header into buffer. 0 or a negative errno. */
int fs_npy_read(struct fs_slice *slice, char *buffer, size_t size, int64_t offset);

/*
 * That part of the header is to be overwritten: right with what it says already, and, as a whole,
 * with what it will say once the slice has grown, as numpy.save does. 0, or -EPERM, or another
 * negative errno. inode is the number by which the kernel knows the file.
 */
int fs_npy_write(struct fs_notifier *notifier, struct fs_slice *slice, fuse_ino_t inode,
                 const char *buffer, size_t size, int64_t offset);

/*
 * That part of the header comes with a page that was mapped. What it says changes nothing: the page
 * may have been read before the slice grew. The kernel reads it again.
 */
void fs_npy_mapped(struct fs_notifier *notifier, struct fs_slice *slice, fuse_ino_t inode,
                   const char *buffer, size_t size, int64_t offset);

#endif
