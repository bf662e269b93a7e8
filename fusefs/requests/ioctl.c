/* SPDX-License-Identifier: MIT */
#include "requests.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "fusefs/kernel/drop.h"
#include "fusefs/kernel/grants.h"
#include "handle_ops.h"

/* Requests for grants. */

static void answer(struct fs_session *session, fuse_req_t request, struct fs_handle *handle,
                   uint64_t nonce)
{
    struct mpiio_grant_request asked = {.nonce = nonce};

    fs_grants_ask(session, handle, fuse_req_ctx(request)->uid, &asked);
    fuse_reply_ioctl(request, 0, &asked, sizeof(asked));
}

static void answer_dropped(struct fs_session *session, const struct fs_drop *drop, int error)
{
    if (error == 0)
        fs_grants_dropped(session, drop->slice, drop->number);
    answer(session, drop->request, drop->handle, drop->nonce);
}

/*
 * Returns true if the request is answered after a drop. Requests of other users have no effect at
 * all.
 */
static bool waits_for_drop(struct fs_session *session, fuse_req_t request, struct fs_handle *handle,
                           uint64_t nonce)
{
    struct fs_drop drop = {.slice = handle->slice,
                           .done = answer_dropped,
                           .request = request,
                           .handle = handle,
                           .nonce = nonce};

    return fs_grants_is_user(fuse_req_ctx(request)->uid) &&
           fs_grants_await_drop(session, handle, &drop.number) &&
           fs_drop_queue(&session->notifier, &drop) == 0;
}

/* Answers the library of mpiio-run, which requests the mark of a truncated slice, or reports it. */
static void exchange_mark(struct fs_session *session, fuse_req_t request, struct fs_handle *handle,
                          const void *reported)
{
    int64_t mark;

    memcpy(&mark, reported, sizeof(mark));
    fs_workers_pause(&session->workers); /* it may wait while a gap is filled */
    if (mark < 0)
        mark = fs_cut_hide(&session->slices, handle);
    else
        fs_cut_show(&session->slices, handle, mark);
    fs_workers_resume(&session->workers);
    fuse_reply_ioctl(request, 0, &mark, sizeof(mark));
}

static void answer_written(struct fs_session *session, const struct fs_drop *drop, int error)
{
    (void)session, (void)error;
    fuse_reply_ioctl(drop->request, 0, NULL, 0);
}

/*
 * Invalidates the pages that may lack bytes that a program has written to "shared", which has no
 * pages of its own. The notifier sends the answer, after it has carried out the drops.
 */
static void drop_written(struct fs_session *session, fuse_req_t request,
                         const struct fs_handle *handle, const void *reported)
{
    const struct fs_drop last = {.done = answer_written, .request = request};
    struct mpiio_grant_range range;
    int64_t end;

    memcpy(&range, reported, sizeof(range));
    if (range.offset < 0 || range.length <= 0 || range.length > MPIIO_GRANT_RANGE_MAX ||
        __builtin_add_overflow(range.offset, range.length, &end)) {
        fuse_reply_err(request, EINVAL);
        return;
    }
    fs_overlaps_drop(&session->overlaps, handle->slice, range.offset, range.length);
    if (fs_drop_queue(&session->notifier, &last) != 0)
        answer_written(session, &last, 0);
}

/*
 * Handles requests of mpiio-run's library. All other commands, such as those for terminals, fail
 * with ENOTTY. A request for a grant of a file that has none fails with ENODATA instead, because
 * ENOTTY tells the library that the whole filesystem has no grants.
 */
void fs_ioctl(fuse_req_t request, fuse_ino_t inode, unsigned command, void *argument,
              struct fuse_file_info *info, unsigned flags, const void *in, size_t in_size,
              size_t out_size)
{
    struct fs_session *session = fs_session_of(request);
    struct fs_handle *handle = fs_handle_of(info);
    struct mpiio_grant_request asked;

    (void)inode, (void)argument;
    if ((flags & FUSE_IOCTL_DIR) != 0 || !handle->ops->grantable) {
        fuse_reply_err(request, command == MPIIO_GRANT_ASK ? ENODATA : ENOTTY);
        return;
    }
    if (command == MPIIO_GRANT_MARK && in_size == sizeof(int64_t) && out_size >= sizeof(int64_t) &&
        fs_grants_is_user(fuse_req_ctx(request)->uid)) {
        exchange_mark(session, request, handle, in);
        return;
    }
    if (command == MPIIO_GRANT_WROTE && in_size == sizeof(struct mpiio_grant_range) &&
        handle->ops == &fs_shared_ops && fs_grants_is_user(fuse_req_ctx(request)->uid)) {
        drop_written(session, request, handle, in);
        return;
    }
    if (command != MPIIO_GRANT_ASK || in_size < sizeof(asked) || out_size < sizeof(asked)) {
        fuse_reply_err(request, ENOTTY);
        return;
    }
    memcpy(&asked, in, sizeof(asked));
    if (!waits_for_drop(session, request, handle, asked.nonce))
        answer(session, request, handle, asked.nonce);
}
