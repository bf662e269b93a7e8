/* SPDX-License-Identifier: MIT */
#include "durable.h"

void fs_sync_failed(struct fs_session *session, int error)
{
    atomic_store(&session->sync_error, error);
    atomic_fetch_add(&session->failed_syncs, 1);
}

int fs_sync_file(struct fs_session *session, bool data_only)
{
    return session->read_only == 0 ? mpiio_store_sync(session->store, data_only) : 0;
}

int fs_sync_file_noted(struct fs_session *session, bool data_only)
{
    int error = fs_sync_file(session, data_only);

    if (error != 0)
        fs_sync_failed(session, error);
    return error;
}

int fs_sync_missed(struct fs_session *session, struct fs_handle *handle)
{
    unsigned error = atomic_load(&session->failed_syncs);

    if (atomic_exchange(&handle->failed_syncs, error) == error || !atomic_load(&handle->unsynced))
        return 0;
    return atomic_load(&session->sync_error);
}

void fs_sync_written(struct fs_session *session, struct fs_handle *handle)
{
    if (atomic_load_explicit(&handle->unsynced, memory_order_relaxed))
        return;
    atomic_store(&handle->failed_syncs, atomic_load(&session->failed_syncs));
    atomic_store(&handle->unsynced, true);
}
