/* SPDX-License-Identifier: MIT */
#include "fsync.h"

#include <stdlib.h>

#include "fusefs/kernel/notifier.h"
#include "fusefs/kernel/sync.h"
#include "fusefs/names/handle.h"
#include "ordered.h"

static void tell_synced(struct fs_session *session, struct fs_waiter *waiter,
                        const struct fs_flushed *flushed)
{
    int answer =
        fs_sync_told(session, waiter->handle, flushed->error != 0 ? flushed->error : waiter->torn);

    if (answer == 0)
        answer = session->mode->refresh(session, waiter->request, waiter->inode, waiter->handle);
    if (answer <= 0)
        fuse_reply_err(waiter->request, -answer);
    free(waiter);
}

/* MPI_File_sync: what was written is on the device. */
void fs_fsync(fuse_req_t request, fuse_ino_t inode, int datasync, struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);
    struct fs_waiter waiter = {.done = tell_synced,
                               .sync = true,
                               .data_only = datasync != 0,
                               .request = request,
                               .inode = inode,
                               .handle = fs_handle_of(info)};
    bool is_slice = waiter.handle->slice != NULL; /* once answered, the handle may be gone */
    int error = 0;

    fs_count(session, FS_FSYNC);
    if (waiter.handle->share != NULL)
        error = fs_ordered_await(session, request, waiter.handle);
    if (is_slice && error == 0)
        error = fs_flush_first(session, &waiter);
    if (!is_slice || error != 0)
        fuse_reply_err(request, -error);
}

void fs_fsyncdir(fuse_req_t request, fuse_ino_t inode, int datasync, struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);
    int error = 0;

    (void)datasync;
    (void)info;
    fs_count(session, FS_FSYNC);
    if (inode == FUSE_ROOT_ID)
        error = fs_notifier_sync(&session->notifier, request);
    if (inode != FUSE_ROOT_ID || error != 0)
        fuse_reply_err(request, -error);
}
