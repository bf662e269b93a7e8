/* SPDX-License-Identifier: MIT */
#include "drop.h"

#include <errno.h>
#include <stdlib.h>

#include "fusefs/names/handle.h"

/* Notices: drops, and the requests to answer after them. */
struct fs_notice {
    struct fs_task task;       /* must be the first member */
    struct fs_slice *slice;    /* a reference; NULL: store everything */
    fuse_ino_t inode;          /* the slice's number */
    fuse_req_t request;        /* the request to answer, or NULL */
    struct fs_version version; /* set with a request */
    bool opens;                /* the request opens the slice; info is the answer */
    struct fuse_file_info info;
    struct fs_handle *asker; /* handle whose request asks for a grant, or NULL */
    off_t offset;            /* start of the pages; 0: all */
    size_t written;          /* length of the write that request is; 0: it is no write */
};

static void drop(struct fs_notifier *notifier, const struct fs_notice *notice)
{
    struct fs_session *session = notifier->session;
    int error = fs_drop_pages(notifier->dropper, notice->slice, notice->inode, notice->offset,
                              notice->written);

    if (notice->opens) {
        struct fuse_file_info info = notice->info;

        info.keep_cache = info.keep_cache || error == 0;
        notifier->calls.opened(session, notice->request, &info);
    } else if (notice->asker != NULL) {
        notifier->calls.asked(session, notice->request, notice->asker);
    } else if (notice->written != 0) {
        fuse_reply_write(notice->request, notice->written);
    } else if (notice->request != NULL) {
        if (error == 0)
            fs_slices_set_filled(notifier->dropper->slices, notice->slice, &notice->version);
        fuse_reply_err(notice->request, -error);
    }
    fs_slices_put(notifier->dropper->slices, notice->slice);
}

static void carry_out(void *data, struct fs_task *task)
{
    struct fs_notifier *notifier = data;
    struct fs_notice *notice = (struct fs_notice *)task;

    if (notice->slice != NULL)
        drop(notifier, notice);
    else
        fuse_reply_err(notice->request, -notifier->calls.sync_all(notifier->session));
    free(notice);
}

void fs_notifier_init(struct fs_notifier *notifier, struct fs_session *session,
                      struct fs_dropper *dropper, struct fs_notifier_calls calls)
{
    *notifier = (struct fs_notifier){.session = session, .dropper = dropper, .calls = calls};
    fs_fifo_init(&notifier->fifo, carry_out, notifier);
}

/* Queues a copy of a notice, about slice or NULL. Returns 0 or a negative errno. */
static int hand_over(struct fs_notifier *notifier, struct fs_slice *slice,
                     const struct fs_notice *wanted)
{
    struct fs_slices *slices = notifier->dropper->slices;
    struct fs_notice *notice = malloc(sizeof(*notice));
    int error;

    if (notice == NULL)
        return -ENOMEM;
    *notice = *wanted;
    if (slice != NULL)
        notice->slice = fs_slices_ref(slices, slice);
    error = fs_fifo_put(&notifier->fifo, &notice->task);
    if (error != 0) {
        if (slice != NULL)
            fs_slices_put(slices, slice);
        free(notice);
    }
    return error;
}

bool fs_notifier_drop(struct fs_notifier *notifier, struct fs_slice *slice, fuse_ino_t inode)
{
    if (hand_over(notifier, slice, &(struct fs_notice){.inode = inode}) != 0)
        return false;
    atomic_fetch_add(&notifier->dropped, 1);
    return true;
}

int fs_notifier_refresh(struct fs_notifier *notifier, struct fs_slice *slice, fuse_ino_t inode,
                        fuse_req_t request, const struct fs_version *version)
{
    return hand_over(notifier, slice,
                     &(struct fs_notice){.inode = inode, .request = request, .version = *version});
}

int fs_notifier_open(struct fs_notifier *notifier, struct fs_slice *slice, fuse_ino_t inode,
                     fuse_req_t request, const struct fuse_file_info *info)
{
    return hand_over(
        notifier, slice,
        &(struct fs_notice){.inode = inode, .request = request, .opens = true, .info = *info});
}

int fs_notifier_ask(struct fs_notifier *notifier, struct fs_handle *handle, fuse_ino_t inode,
                    fuse_req_t request)
{
    return hand_over(notifier, handle->slice,
                     &(struct fs_notice){.inode = inode, .request = request, .asker = handle});
}

int fs_notifier_wrote(struct fs_notifier *notifier, struct fs_slice *slice, fuse_ino_t inode,
                      fuse_req_t request, off_t offset, size_t length)
{
    return hand_over(notifier, slice,
                     &(struct fs_notice){
                         .inode = inode, .request = request, .offset = offset, .written = length});
}

int fs_notifier_sync(struct fs_notifier *notifier, fuse_req_t request)
{
    return hand_over(notifier, NULL, &(struct fs_notice){.request = request});
}
