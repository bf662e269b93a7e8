/* SPDX-License-Identifier: MIT */
#ifndef FS_OVERLAPS_H
#define FS_OVERLAPS_H

#include "fusefs/names/slices.h"
#include "notifier.h"

/*
 * Slices that show the same bytes of the file: of other views, of other ranks where these overlap,
 * and the same one behind a NumPy header. The kernel takes each for a file of its own.
 */
struct fs_overlaps {
    struct fs_slices *slices; /* borrowed, as is notifier */
    struct fs_notifier *notifier;
    atomic_int *known; /* by view: zeros at first; owned */
};

/*
 * Bytes [offset, offset + length) of a slice's data are written: has the notifier drop the pages of
 * the other slices that are open for reading and show some of them. Does not wait: what is handed
 * to the notifier next comes after. Returns how many slices. Thread-safe.
 */
size_t fs_overlaps_drop(struct fs_overlaps *overlaps, struct fs_slice *slice, int64_t offset,
                        int64_t length);

/* Returns false if two ranks of a view are known to show the same byte. Computes nothing. */
bool fs_overlaps_may_be_disjoint(const struct fs_overlaps *overlaps, size_t view);

/*
 * Whether no two slices of a view hold the same byte of the file, as far as that is found without
 * much work: a fraction of a second the first time. 0 or -ENOMEM. Thread-safe.
 */
int fs_overlaps_disjoint(struct fs_overlaps *overlaps, size_t view, bool *disjoint);

#endif
