/* SPDX-License-Identifier: MIT */
#include "fsync.h"

#include <errno.h>
#include <stdlib.h>

#include "fusefs/kernel/held.h"
#include "fusefs/kernel/notifier.h"
#include "fusefs/kernel/sync.h"
#include "fusefs/names/handle.h"

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

/* MPI_File_sync: what was written is on the device. Returns 1 where others answer. */
static int do_fsync(struct fs_session *session, fuse_req_t request, fuse_ino_t inode,
                    struct fs_handle *handle, bool data_only)
{
    struct fs_flusher *flusher = &session->flusher;
    int error, torn;

    if (handle->slice == NULL)
        return 0;
    if (!fs_flusher_is_on(flusher)) {
        error = fs_sync_handle(session, handle, data_only);
        return error != 0 ? error : session->mode->refresh(session, request, inode, handle);
    }
    fs_store_lost(session);
    torn = fs_store_partial(session, handle->slice);
    if (fs_flusher_is_clean(flusher, true)) {
        error = fs_sync_told(session, handle, torn);
    } else {
        error = fs_flush_first(session, &(struct fs_waiter){.done = tell_synced,
                                                            .sync = true,
                                                            .request = request,
                                                            .inode = inode,
                                                            .handle = handle,
                                                            .torn = torn});
        return error != 0 ? error : 1;
    }
    return error != 0 ? error : session->mode->refresh(session, request, inode, handle);
}

void fs_fsync(fuse_req_t request, fuse_ino_t inode, int datasync, struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);
    int answer;

    fs_count(session, FS_FSYNC);
    answer = do_fsync(session, request, inode, fs_handle_of(info), datasync != 0);
    if (answer <= 0)
        fuse_reply_err(request, -answer);
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
