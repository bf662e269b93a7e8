/* SPDX-License-Identifier: MIT */
#ifndef FS_NPY_H
#define FS_NPY_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>

#include "fusefs/names/slices.h"

struct fs_notifier;

/*
 * The NumPy header before a slice. It is generated from the slice's size on each read, and never
 * stored. Offsets count from the beginning of the header. All functions are thread-safe.
 */

/*
 * Returns how many of the size bytes from offset on belong to the header; 0 if there is no header.
 */
size_t fs_npy_part(const struct fs_slice *slice, int64_t offset, size_t size);

/* Copies this part of the header into buffer. Returns 0 or a negative errno. */
int fs_npy_read(struct fs_slice *slice, char *buffer, size_t size, int64_t offset);

/*
 * Handles a write to this part of the header. It succeeds if the bytes equal the current header. It
 * also succeeds for a complete header of a larger slice, because numpy.save writes the header
 * first. Returns 0, -EPERM for other bytes, or another negative errno. inode is the number by which
 * the kernel knows the file.
 */
int fs_npy_write(struct fs_notifier *notifier, struct fs_slice *slice, fuse_ino_t inode,
                 const char *buffer, size_t size, int64_t offset);

/*
 * Handles a part of the header in a page that was written through a mapping. Ignores the bytes,
 * because the page may have been read before the slice grew. If they differ from the header, makes
 * the kernel read the page again.
 */
void fs_npy_mapped(struct fs_notifier *notifier, struct fs_slice *slice, fuse_ino_t inode,
                   const char *buffer, size_t size, int64_t offset);

#endif
