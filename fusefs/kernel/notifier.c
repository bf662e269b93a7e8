/* SPDX-License-Identifier: MIT */
#include "notifier.h"

#include "core/base/thread.h"
#include "fusefs/session.h"

#include <errno.h>
#include <stdlib.h>

struct fs_notice {
    struct fs_notice *next;
    struct fs_slice *slice;    /* a reference; NULL: store all */
    fuse_ino_t inode;          /* of the slice */
    fuse_req_t request;        /* to be answered, or NULL */
    struct fs_version version; /* with a request */
    bool opens;                /* the request is an open of the slice, info its answer */
    struct fuse_file_info info;
    off_t offset;   /* of the pages: 0: all */
    size_t written; /* the request is a write of so many bytes there; 0: it is none */
};

static void drop(struct fs_notifier *notifier, const struct fs_notice *notice)
{
    struct fs_session *session = notifier->session;
    int error = fuse_lowlevel_notify_inval_inode(session->fuse, notice->inode, notice->offset,
                                                 (off_t)notice->written);

    if (error == -ENOENT) /* the kernel holds nothing of it */
        error = 0;
    if (notice->opens) {
        notifier->calls.opened(session, notice->request, &notice->info);
    } else if (notice->written != 0) {
        fuse_reply_write(notice->request, notice->written);
    } else if (notice->request != NULL) {
        if (error == 0)
            fs_slices_set_filled(&session->slices, notice->slice, &notice->version);
        fuse_reply_err(notice->request, -error);
    }
    fs_slices_put(&session->slices, notice->slice);
}

static void carry_out(struct fs_notifier *notifier, struct fs_notice *notice)
{
    if (notice->slice != NULL)
        drop(notifier, notice);
    else
        fuse_reply_err(notice->request, -notifier->calls.sync_all(notifier->session));
    free(notice);
}

static void *work(void *data)
{
    struct fs_notifier *notifier = data;
    struct fs_notice *notice;

    pthread_mutex_lock(&notifier->lock);
    for (;;) {
        while (notifier->first == NULL && !notifier->stop)
            pthread_cond_wait(&notifier->wake, &notifier->lock);
        notice = notifier->first;
        if (notice == NULL)
            break;
        notifier->first = notice->next;
        pthread_mutex_unlock(&notifier->lock);
        carry_out(notifier, notice);
        pthread_mutex_lock(&notifier->lock);
        if (--notifier->pending == 0)
            pthread_cond_signal(&notifier->done);
    }
    pthread_mutex_unlock(&notifier->lock);
    return NULL;
}

int fs_notifier_start(struct fs_notifier *notifier, struct fs_session *session,
                      struct fs_notifier_calls calls)
{
    int error;

    *notifier = (struct fs_notifier){.session = session, .calls = calls};
    pthread_mutex_init(&notifier->lock, NULL);
    pthread_cond_init(&notifier->wake, NULL);
    pthread_cond_init(&notifier->done, NULL);
    error = mpiio_thread_start(&notifier->thread, work, notifier);
    notifier->started = error == 0;
    return error;
}

void fs_notifier_stop(struct fs_notifier *notifier)
{
    if (!notifier->started)
        return;
    pthread_mutex_lock(&notifier->lock);
    notifier->stop = true;
    pthread_cond_signal(&notifier->wake);
    pthread_mutex_unlock(&notifier->lock);
    pthread_join(notifier->thread, NULL);
    pthread_cond_destroy(&notifier->wake);
    pthread_cond_destroy(&notifier->done);
    pthread_mutex_destroy(&notifier->lock);
    notifier->started = false;
}

void fs_notifier_finish(struct fs_notifier *notifier)
{
    pthread_mutex_lock(&notifier->lock);
    notifier->closed = true;
    while (notifier->pending != 0)
        pthread_cond_wait(&notifier->done, &notifier->lock);
    pthread_mutex_unlock(&notifier->lock);
}

static bool enqueue(struct fs_notifier *notifier, struct fs_notice *notice)
{
    bool closed;

    pthread_mutex_lock(&notifier->lock);
    closed = notifier->closed;
    if (!closed) {
        if (notifier->first == NULL)
            notifier->first = notice;
        else
            notifier->last->next = notice;
        notifier->last = notice;
        notifier->pending++;
        pthread_cond_signal(&notifier->wake);
    }
    pthread_mutex_unlock(&notifier->lock);
    return !closed;
}

/* Takes over a notice about a slice, or frees it. */
static int hand_over(struct fs_notifier *notifier, struct fs_slice *slice, struct fs_notice *notice)
{
    notice->slice = fs_slices_ref(&notifier->session->slices, slice);
    if (enqueue(notifier, notice))
        return 0;
    fs_slices_put(&notifier->session->slices, slice);
    free(notice);
    return -ENOTCONN;
}

int fs_notifier_drop(struct fs_notifier *notifier, struct fs_slice *slice, fuse_ino_t inode,
                     fuse_req_t request, const struct fs_version *version)
{
    struct fs_notice *notice = calloc(1, sizeof(*notice));

    if (notice == NULL)
        return -ENOMEM;
    notice->inode = inode;
    notice->request = request;
    if (request != NULL)
        notice->version = *version;
    return hand_over(notifier, slice, notice);
}

int fs_notifier_open(struct fs_notifier *notifier, struct fs_slice *slice, fuse_ino_t inode,
                     fuse_req_t request, const struct fuse_file_info *info)
{
    struct fs_notice *notice = calloc(1, sizeof(*notice));

    if (notice == NULL)
        return -ENOMEM;
    notice->inode = inode;
    notice->request = request;
    notice->opens = true;
    notice->info = *info;
    return hand_over(notifier, slice, notice);
}

int fs_notifier_wrote(struct fs_notifier *notifier, struct fs_slice *slice, fuse_ino_t inode,
                      fuse_req_t request, off_t offset, size_t length)
{
    struct fs_notice *notice = calloc(1, sizeof(*notice));

    if (notice == NULL)
        return -ENOMEM;
    notice->inode = inode;
    notice->request = request;
    notice->offset = offset;
    notice->written = length;
    return hand_over(notifier, slice, notice);
}

int fs_notifier_sync(struct fs_notifier *notifier, fuse_req_t request)
{
    struct fs_notice *notice = calloc(1, sizeof(*notice));

    if (notice == NULL)
        return -ENOMEM;
    notice->request = request;
    if (enqueue(notifier, notice))
        return 0;
    free(notice);
    return -ENOTCONN;
}
