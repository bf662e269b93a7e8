/* SPDX-License-Identifier: MIT */
#ifndef FS_SLICE_OF_H
#define FS_SLICE_OF_H

#include "fusefs/names/slices.h"

struct fs_session;

/*
 * A reference to the slice of node. A view that does not compile gives -EIO and a line in the log.
 * Thread-safe.
 */
int fs_slice_of(struct fs_session *session, struct fs_node node, struct fs_slice **slice);

#endif
