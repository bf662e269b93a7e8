/* SPDX-License-Identifier: MIT */
#ifndef FS_DURABLE_H
#define FS_DURABLE_H

#include "fusefs/names/handle.h"

/* Tracks whether written data is on the storage device. All functions are thread-safe. */
struct fs_durable {
    struct mpiio_store *store; /* borrowed */
    bool writes;               /* the store is open for writing */
    atomic_uint failed;        /* number of failed syncs of the file to its device */
    atomic_int error;          /* errno of the last one, negative */
};

/*
 * fs_sync_file calls fsync(2) on the file itself and returns 0 or a negative errno. fs_sync_failed
 * records a failure for all handles that have written. fs_sync_file_noted does both.
 */
int fs_sync_file(struct fs_durable *durable, bool data_only);
int fs_sync_file_noted(struct fs_durable *durable, bool data_only);
void fs_sync_failed(struct fs_durable *durable, int error);

/*
 * Make each handle that has written report a failed sync. The kernel reports it only once, to the
 * first fsync. fs_sync_missed returns the error of a sync for another handle that this handle has
 * not reported yet, or 0. fs_sync_written records a write through the handle.
 */
int fs_sync_missed(struct fs_durable *durable, struct fs_handle *handle);
void fs_sync_written(struct fs_durable *durable, struct fs_handle *handle);

#endif
