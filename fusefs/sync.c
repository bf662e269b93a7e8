/* SPDX-License-Identifier: MIT */
#include "handle.h"
#include "operations.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* So many failures are logged: a full disk must not fill another with messages. */
#define LOGGED_LOSSES 100

int fs_version_now(struct fs_session *session, struct fs_version *version)
{
    struct timespec before;
    struct stat st;
    uint64_t changes = atomic_load(&session->flusher.changes);
    int failed;

    clock_gettime(CLOCK_REALTIME, &before);
    failed = mpiio_store_stat(session->store, &st);
    if (failed == 0)
        *version = fs_version_of(&st, before, changes);
    return failed;
}

void fs_lost(struct fs_session *session, const struct fs_slice *slice, const char *bytes,
             size_t length, int64_t offset, int error)
{
    struct fs_node node = fs_tree_node(&session->tree, slice->inode);

    fs_losses_add(&session->losses, slice->data, bytes, length, offset, error);
    if (atomic_fetch_add(&session->logged_losses, 1) < LOGGED_LOSSES)
        fs_log_error(&session->log, "rank %lld: %zu bytes at %" PRId64 " cannot be stored: %s",
                     (long long)node.rank, length, offset, strerror(-error));
}

int fs_settle(struct fs_session *session, const struct fs_slice *slice)
{
    bool torn = mpiio_slice_is_torn(slice->slice);
    bool begun = fs_losses_begin_write(&session->losses);
    int64_t offset, length;
    int failed = mpiio_slice_settle(slice->slice, false, &offset, &length);

    fs_losses_end_write(&session->losses, begun);
    if (torn)
        fs_flusher_wrote(&session->flusher);
    return failed;
}

/* The kernel's pages have what was given up, or was stored as another value: they go now, or else
 * when the slice is opened. */
static void drop_pages(struct fs_session *session, struct fs_slice *slice)
{
    const struct fs_version unknown = {.settled = false};

    fs_slices_set_filled(&session->slices, slice, &unknown);
    if (fs_notifier_drop(&session->notifier, slice, slice->inode_open, NULL, NULL) == 0)
        fs_count(session, FS_DROPPED);
}

void fs_give_up(struct fs_session *session, struct fs_slice *slice)
{
    struct fs_node node = fs_tree_node(&session->tree, slice->inode);
    bool torn = mpiio_slice_is_torn(slice->slice);
    bool begun = fs_losses_begin_write(&session->losses);
    int64_t offset, length;
    int failed;

    while ((failed = mpiio_slice_settle(slice->slice, true, &offset, &length)) != 0)
        if (atomic_fetch_add(&session->logged_losses, 1) < LOGGED_LOSSES)
            fs_log_error(&session->log,
                         "rank %lld: the element at %" PRId64 " was written in part and is given "
                         "up: %s",
                         (long long)node.rank, offset, strerror(-failed));
    fs_losses_end_write(&session->losses, begun);
    if (torn) {
        fs_flusher_wrote(&session->flusher);
        drop_pages(session, slice);
    }
}

void fs_sync_failed(struct fs_session *session, int error)
{
    atomic_store(&session->sync_error, error);
    atomic_fetch_add(&session->failed_syncs, 1);
}

int fs_sync_file(struct fs_session *session, bool data_only)
{
    return session->read_only == 0 ? mpiio_store_sync(session->store, data_only) : 0;
}

/* A failure is kept for those who have written and did not ask. */
static int sync_file(struct fs_session *session, bool data_only)
{
    int failed = fs_sync_file(session, data_only);

    if (failed != 0)
        fs_sync_failed(session, failed);
    return failed;
}

/* Everything that was written through this node is on the device. Waits for other nodes. */
static int flush_all(struct fs_session *session)
{
    struct fs_flusher *flusher = &session->flusher;

    if (!fs_flusher_is_on(flusher))
        return sync_file(session, false);
    return fs_flusher_is_clean(flusher, true) ? 0 : fs_flusher_wait(flusher, true);
}

int fs_flush_first(struct fs_session *session, const struct fs_waiter *waiter)
{
    struct fs_waiter *copy = malloc(sizeof(*copy));
    int failed;

    if (copy == NULL)
        return -ENOMEM;
    *copy = *waiter;
    failed = fs_flusher_hand_over(&session->flusher, copy);
    if (failed != 0)
        free(copy);
    return failed;
}

int fs_flush_error(struct fs_session *session, const struct fs_handle *handle)
{
    return session->back != NULL ? mpiio_back_error(session->back, handle->slice->data) : 0;
}

int fs_sync_missed(struct fs_session *session, struct fs_handle *handle)
{
    unsigned failed = atomic_load(&session->failed_syncs);

    if (atomic_exchange(&handle->failed_syncs, failed) == failed || !atomic_load(&handle->unsynced))
        return 0;
    return atomic_load(&session->sync_error);
}

int fs_sync_handle(struct fs_session *session, struct fs_handle *handle, bool data_only)
{
    int torn, failed;

    fs_store_lost(session);
    torn = fs_settle(session, handle->slice);
    failed = sync_file(session, data_only);
    return fs_sync_told(session, handle, failed != 0 ? failed : torn);
}

int fs_sync_told(struct fs_session *session, struct fs_handle *handle, int failed)
{
    int missed, lost;

    missed = fs_sync_missed(session, handle);
    lost = fs_losses_error(&session->losses, handle->slice->data);
    if (failed == 0)
        failed = missed;
    if (failed == 0)
        failed = lost;
    if (failed == 0)
        failed = fs_flush_error(session, handle);
    if (failed == 0)
        atomic_store(&handle->unsynced, false);
    return failed;
}

void fs_sync_written(struct fs_session *session, struct fs_handle *handle)
{
    if (atomic_load_explicit(&handle->unsynced, memory_order_relaxed))
        return;
    atomic_store(&handle->failed_syncs, atomic_load(&session->failed_syncs));
    atomic_store(&handle->unsynced, true);
}

/*
 * Has the kernel send what it holds back of the slices, and settles them. Waits for it, and so for
 * other threads.
 */
static int send_pages(struct fs_session *session)
{
    struct fs_slice **list;
    int64_t count = fs_slices_written(&session->slices, &list);
    int failed = 0;

    for (int64_t i = 0; i < count; i++) {
        int torn;

        fuse_lowlevel_notify_inval_inode(session->fuse, list[i]->inode_open, 0, 0);
        torn = fs_settle(session, list[i]);
        failed = failed != 0 ? failed : torn;
        fs_slices_put(&session->slices, list[i]);
    }
    free(list);
    return count < 0 ? (int)count : failed;
}

int fs_sync_all(struct fs_session *session)
{
    int failed = send_pages(session);
    int synced, error;

    fs_store_lost(session);
    synced = flush_all(session);
    if (failed == 0)
        failed = synced;
    if (fs_losses_bytes(&session->losses, &error) != 0 && failed == 0)
        failed = error;
    return failed;
}

int64_t fs_unsaved(struct fs_session *session)
{
    struct mpiio_back_stats stats = {0};
    int error;

    if (session->back != NULL)
        mpiio_back_get_stats(session->back, &stats);
    return stats.dirty_bytes + (int64_t)fs_losses_bytes(&session->losses, &error);
}

void fs_fsyncdir(fuse_req_t request, fuse_ino_t inode, int datasync, struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);
    int failed = 0;

    (void)datasync;
    (void)info;
    fs_count(session, FS_FSYNC);
    if (inode == FUSE_ROOT_ID)
        failed = fs_notifier_sync(&session->notifier, request);
    if (inode != FUSE_ROOT_ID || failed != 0)
        fuse_reply_err(request, -failed);
}
