/* SPDX-License-Identifier: MIT */
#include "ioctl.h"

#include <errno.h>

#include "fusefs/kernel/grants.h"
#include "fusefs/session.h"

static void answer(struct fs_session *session, fuse_req_t request, struct fs_handle *handle)
{
    struct mpiio_grant grant;
    int error = fs_grants_ask(session, handle, &grant);

    if (error != 0)
        fuse_reply_err(request, -error);
    else
        fuse_reply_ioctl(request, 0, &grant, sizeof(grant));
}

void fs_ioctl_asked(struct fs_session *session, fuse_req_t request, struct fs_handle *handle)
{
    fs_grants_dropped(session, handle);
    answer(session, request, handle);
}

/* mpiio-run's library asks for a grant; terminals and others ask what no slice knows. */
void fs_ioctl(fuse_req_t request, fuse_ino_t inode, unsigned command, void *argument,
              struct fuse_file_info *info, unsigned flags, const void *in, size_t in_size,
              size_t out_size)
{
    struct fs_session *session = fs_session_of(request);
    struct fs_handle *handle = fs_handle_of(info);

    (void)argument, (void)in, (void)in_size;
    fs_count(session, FS_OTHER);
    if (command != MPIIO_GRANT_ASK || (flags & FUSE_IOCTL_DIR) != 0 ||
        out_size < sizeof(struct mpiio_grant) || handle->slice == NULL || handle->shared)
        fuse_reply_err(request, ENOTTY);
    else if (!fs_grants_await_drop(session, handle) ||
             fs_notifier_ask(&session->notifier, handle, inode, request) != 0)
        answer(session, request, handle);
}
