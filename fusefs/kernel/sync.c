/* SPDX-License-Identifier: MIT */
#include "sync.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/store_layers.h"
#include "fusefs/storing/flusher.h"

int fs_version_now(struct fs_session *session, struct fs_version *version)
{
    struct mpiio_file *file = mpiio_store_file(session->store);
    uint64_t changes = atomic_load(&session->flusher.changes);
    int error;

    error = mpiio_file_refresh(file);
    fs_pool_look_again(&session->pool); /* after the refresh, because a reader may look at once */
    /* On a filesystem that is not local, waiting would cost each call 50 ms. */
    if (error == 0)
        error = fs_settling_sample(&session->settling, version, mpiio_file_is_coherent(file));
    version->changes = changes;
    /* If a flush has ended meanwhile, the attributes may not show its changes yet. */
    if (changes != atomic_load(&session->flusher.changes))
        version->settled = false;
    return error;
}

/*
 * Stores everything written through this node on the device. Waits for other nodes. Returns 0 or a
 * negative errno.
 */
static int flush_all(struct fs_session *session)
{
    struct fs_flusher *flusher = &session->flusher;

    if (!fs_flusher_is_on(flusher))
        return fs_sync_file_noted(&session->durable, false);
    return fs_flusher_is_clean(flusher, true) ? 0 : fs_flusher_wait(flusher, true);
}

/*
 * Returns true if the waiter needs no flush. In atomic mode, data written through a handle is in
 * the file already, although it is not counted as flushed. Times still go by that count.
 */
static bool is_stored(struct fs_session *session, const struct fs_waiter *waiter)
{
    struct fs_flusher *flusher = &session->flusher;

    return !fs_flusher_is_on(flusher) || fs_flusher_is_clean(flusher, waiter->sync) ||
           (waiter->handle != NULL && !waiter->sync && fs_atomic_is_on(&session->atomic));
}

int fs_flush_first(struct fs_session *session, struct fs_waiter *waiter)
{
    struct fs_flushed flushed = {0};
    struct fs_waiter *copy;
    int error;

    if (waiter->handle != NULL) {
        /* The filesystem's client may delay sending data. Sync it, so that other hosts see it. */
        waiter->sync = waiter->sync || !mpiio_file_is_coherent(mpiio_store_file(session->store));
        fs_store_unwritten(session);
        waiter->torn = fs_store_partial(session, waiter->handle->slice);
    }
    copy = malloc(sizeof(*copy));
    if (copy == NULL)
        return -ENOMEM;
    *copy = *waiter;
    if (!is_stored(session, waiter)) {
        error = fs_flusher_hand_over(&session->flusher, copy);
        if (error != 0)
            free(copy);
        return error != 0 ? error : 1;
    }
    if (waiter->sync && !fs_flusher_is_on(&session->flusher))
        flushed.error = fs_sync_file_noted(&session->durable, waiter->data_only);
    copy->done(session, copy, &flushed);
    return 1;
}

int fs_handle_error(struct fs_session *session, struct fs_handle *handle, int torn)
{
    int error = fs_sync_missed(&session->durable, handle);

    if (error == 0)
        error = torn;
    if (error == 0)
        error = fs_unwritten_error(&session->unwritten, handle->slice->data);
    return error != 0 ? error : mpiio_cache_error(session->cache, handle->slice->data);
}

int fs_sync_reported(struct fs_session *session, const struct fs_waiter *waiter,
                     const struct fs_flushed *flushed)
{
    struct fs_handle *handle = waiter->handle;
    int error = fs_handle_error(session, handle, waiter->torn);

    if (flushed->error != 0)
        error = flushed->error;
    if (error == 0)
        atomic_store(&handle->unsynced, (handle->backing != 0 && handle->writes) ||
                                            (handle->rights & MPIIO_GRANT_WRITE) != 0);
    return error;
}

/*
 * Makes the kernel send the dirty pages of all slices open for writing, and stores their partial
 * elements. Waits for requests that other threads answer. Returns 0 or a negative errno.
 */
static int send_pages(struct fs_session *session)
{
    struct fs_slice_list list;
    int error = fs_slices_written(&session->slices, &list);

    for (size_t i = 0; i < list.count; i++) {
        struct fs_slice *slice = list.slices[i];
        int torn;

        fs_drop_pages(session, &(struct fs_drop){.slice = slice});
        torn = fs_store_partial(session, slice);
        error = error != 0 ? error : torn;
        fs_slices_put(&session->slices, slice);
    }
    free(list.slices);
    return error;
}

int fs_sync_all(struct fs_session *session)
{
    int error = send_pages(session);
    int synced, lost;

    fs_store_unwritten(session);
    synced = flush_all(session);
    if (error == 0)
        error = synced;
    if (fs_unwritten_bytes(&session->unwritten, &lost) != 0 && error == 0)
        error = lost;
    return error;
}

int64_t fs_unsaved(struct fs_session *session)
{
    struct mpiio_ordered_stats ordered = {0};
    struct mpiio_cache_stats stats;
    int error;

    mpiio_cache_get_stats(session->cache, &stats);
    if (session->ordered != NULL)
        mpiio_ordered_get_stats(session->ordered, &ordered);
    return stats.dirty_bytes + (int64_t)fs_unwritten_bytes(&session->unwritten, &error) +
           ordered.waiting + ordered.lost;
}
