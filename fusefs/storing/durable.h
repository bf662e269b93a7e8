/* SPDX-License-Identifier: MIT */
#ifndef FS_DURABLE_H
#define FS_DURABLE_H

#include "fusefs/names/handle.h"

/* What was written and is, or is not, on the storage device. All functions are thread-safe. */
struct fs_durable {
    struct mpiio_store *store; /* borrowed */
    bool writes;               /* the store is open for writing */
    atomic_uint failed;        /* how often the file could not be stored on its device */
    atomic_int error;          /* why, the last time */
};

/*
 * fsync(2) of the file itself: 0 or a negative errno. fs_sync_failed takes note of a failure for
 * those who have written and did not ask; fs_sync_file_noted does both.
 */
int fs_sync_file(struct fs_durable *durable, bool data_only);
int fs_sync_file_noted(struct fs_durable *durable, bool data_only);
void fs_sync_failed(struct fs_durable *durable, int error);

/*
 * The kernel tells that the file could not be stored to the first who asks, and only once; but
 * everyone who has written must hear of it. fs_sync_missed is the error, if any, that an fsync for
 * another handle met and this one was not told; fs_sync_written notes that something was written.
 */
int fs_sync_missed(struct fs_durable *durable, struct fs_handle *handle);
void fs_sync_written(struct fs_durable *durable, struct fs_handle *handle);

#endif
