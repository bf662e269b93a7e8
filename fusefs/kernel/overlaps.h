/* SPDX-License-Identifier: MIT */
#ifndef FS_OVERLAPS_H
#define FS_OVERLAPS_H

#include "fusefs/names/slices.h"
#include "notifier.h"

/*
 * Slices that show the same bytes of the file. They may belong to other views, to other ranks if
 * these overlap, or be the same slice with a NumPy header. To the kernel each is a separate file.
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
