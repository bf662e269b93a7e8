/* SPDX-License-Identifier: MIT */
#include "flusher.h"

#include "core/store.h"
#include "fusefs/names/handle.h"

/* Syncs the file to its device, and tracks which handles have reported failures. */

void fs_sync_failed(struct fs_durable *durable, int error)
{
    atomic_store(&durable->error, error);
    atomic_fetch_add(&durable->failed, 1);
}

int fs_sync_file(struct fs_durable *durable, bool data_only)
{
    return durable->writes ? mpiio_store_sync(durable->store, data_only) : 0;
}

int fs_sync_file_noted(struct fs_durable *durable, bool data_only)
{
    int error = fs_sync_file(durable, data_only);

    if (error != 0)
        fs_sync_failed(durable, error);
    return error;
}

int fs_sync_missed(struct fs_durable *durable, struct fs_handle *handle)
{
    unsigned error = atomic_load(&durable->failed);

    if (atomic_exchange(&handle->failed_syncs, error) == error || !atomic_load(&handle->unsynced))
        return 0;
    return atomic_load(&durable->error);
}

void fs_sync_written(struct fs_durable *durable, struct fs_handle *handle)
{
    if (atomic_load_explicit(&handle->unsynced, memory_order_relaxed))
        return;
    atomic_store(&handle->failed_syncs, atomic_load(&durable->failed));
    atomic_store(&handle->unsynced, true);
}
