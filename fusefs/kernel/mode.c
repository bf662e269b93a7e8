/* SPDX-License-Identifier: MIT */
#include "mode.h"

#include <fcntl.h>

#include "drop.h"
#include "fusefs/kernel/sync.h"
#include "fusefs/session.h"

/*
 * Chooses direct_io. A handle that only writes bypasses the page cache, which would cost a copy,
 * and a read for each page in which records begin or end. Above all, the kernel then locks no page
 * for the write, so the answer can wait until pages are invalidated: the pages of other slices, and
 * of this one if it is being read.
 *
 * The handle must not bypass stores of a shared mapping. They may wait in the same page, and would
 * be sent with the page's old bytes around them. An append bypasses the cache because its offset is
 * unknown until it is done; its pages would be at the end that the kernel assumes.
 */
void fs_mode_open(struct fs_session *session, const struct fs_handle *handle,
                  struct fuse_file_info *info)
{
    bool unique = session->mode == FS_MODE_UNIQUE;
    bool writes =
        handle->writes &&
        ((info->flags & O_APPEND) ||
         (!handle->reads && fs_slices_counts(&session->slices, handle->slice).updaters == 0));

    info->keep_cache =
        unique || fs_slices_is_filled(&session->slices, handle->slice, &handle->version);
    info->direct_io = !unique && (writes || (handle->reads && session->mode == FS_MODE_DIRECT));
}

static void answer_refresh(struct fs_session *session, const struct fs_drop *drop, int error)
{
    if (error == 0)
        fs_slices_set_filled(&session->slices, drop->slice, &drop->version);
    fuse_reply_err(drop->request, -error);
}

int fs_mode_refresh(struct fs_session *session, fuse_req_t request, struct fs_handle *handle)
{
    struct fs_drop drop = {.slice = handle->slice, .done = answer_refresh, .request = request};
    int error;

    if (session->mode == FS_MODE_UNIQUE)
        return 0;
    fs_prefetch_outdate(&session->prefetchers);
    error = fs_version_now(session, &drop.version);
    if (error != 0)
        return error;
    if (fs_slices_is_filled(&session->slices, handle->slice, &drop.version))
        return 0;
    error = fs_drop_queue(&session->notifier, &drop);
    return error != 0 ? error : 1;
}

static void answer_write(struct fs_session *session, const struct fs_drop *drop, int error)
{
    (void)session, (void)error;
    fuse_reply_write(drop->request, drop->length);
}

/*
 * Invalidates the pages of other slices that show the written bytes. The answer to a write past the
 * page cache waits for that. During a write through pages the kernel keeps the pages of the request
 * locked until the answer. Two such writers of overlapping slices would wait for each other, so the
 * answer does not wait for the drops.
 *
 * After a write past the page cache, also invalidates the slice's own pages if it is being read.
 * They may have been filled before the bytes were stored. A slice that is opened later fills its
 * pages later.
 */
void fs_mode_wrote(struct fs_session *session, fuse_req_t request, const struct fs_handle *handle,
                   off_t offset, size_t put, bool direct)
{
    struct fs_slice *slice = handle->slice;
    int64_t end = offset + (int64_t)put - slice->header;
    int64_t start = offset > slice->header ? offset - slice->header : 0;
    /* In atomic mode slices have pages only if they can be mapped despite direct_io. */
    bool paged = session->mode == FS_MODE_DIRECT ||
                 (session->mode == FS_MODE_SHARED && !fs_atomic_is_on(&session->atomic));
    bool others =
        paged && end > start && fs_overlaps_drop(&session->overlaps, slice, start, end - start) > 0;
    bool own = paged && put > 0 && direct && fs_slices_counts(&session->slices, slice).readers > 0;

    if ((own || (others && direct)) &&
        fs_drop_queue(&session->notifier, &(struct fs_drop){.slice = slice,
                                                            .offset = offset,
                                                            .length = put,
                                                            .done = answer_write,
                                                            .request = request}) == 0)
        atomic_fetch_add(&session->notifier.dropped, own);
    else
        fuse_reply_write(request, put);
}

/*
 * Gives a changed slice a new inode number, because the kernel trusts its own size and times of a
 * known inode.
 */
int fs_mode_number(struct fs_session *session, struct fs_slice *slice, fuse_ino_t *inode)
{
    struct fs_version version = {0};
    int error;

    if (session->mode != FS_MODE_UNIQUE)
        return 0;
    fs_handle_await_release(&session->slices, slice, fs_workers_waits, &session->workers);
    error = fs_version_now(session, &version);
    *inode = fs_slices_number(&session->slices, slice, &version);
    return error;
}
