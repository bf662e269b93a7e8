/* SPDX-License-Identifier: MIT */
#include "open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "fusefs/kernel/grants.h"
#include "fusefs/kernel/held.h"
#include "fusefs/kernel/notifier.h"
#include "fusefs/kernel/open_answer.h"
#include "fusefs/kernel/readahead.h"
#include "fusefs/kernel/slice_of.h"
#include "fusefs/kernel/sync.h"
#include "fusefs/names/handle.h"
#include "fusefs/storing/durable.h"
#include "ordered.h"
#include "stats.h"
#include "read.h"
#include "readdir.h"
#include "fusefs/names/version.h"
#include "lookup.h"

/*
 * Whether the pages that the kernel would keep are right, beside grants: these are taken back
 * before the file's version is looked at again, so that nobody writes past the kernel in between.
 */
static bool keeps_pages(struct fs_session *session, struct fs_handle *handle)
{
    struct fs_version filled = fs_slices_filled(&session->slices, handle->slice);
    struct fs_version now;

    if (handle->direct || !fs_grants_are_on(session))
        return true;
    if (fs_grants_is_bare(session, handle))
        return false;
    fs_grants_paged(session, handle->slice);
    return fs_version_now(session, &now) == 0 && fs_version_same(&filled, &now);
}

/* Whether a slice may be opened with those flags. */
static int check_access(struct fs_session *session, const struct fs_slice *slice, int flags)
{
    if (session->stream != NULL && session->read_only == 0 && (flags & O_ACCMODE) != O_WRONLY)
        return -EACCES;
    if ((flags & O_ACCMODE) == O_RDONLY)
        return 0;
    if (session->read_only != 0)
        return session->read_only;
    return mpiio_slice_is_writable(slice->slice) ? 0 : -EROFS;
}

/*
 * Chooses where the kernel takes the slice's bytes from: the shared file itself (passthrough), its
 * page cache, or the daemon at each call. The handle has joined those of its slice.
 */
static void choose_source(struct fs_session *session, struct fs_handle *handle,
                          struct fuse_file_info *info)
{
    bool atomic = fs_atomic_is_on(&session->atomic);

    if (handle->shared) {
        info->direct_io = handle->direct = true;
        info->nonseekable = true;
        fs_grants_joined(session, handle);
        return;
    }
    session->mode->open(session, handle, info);
    info->direct_io |= atomic;
    handle->entered = !atomic && fs_passthrough_is_on(session);
    handle->backing = handle->entered ? fs_passthrough_enter(session) : 0;
    handle->passed = handle->backing != 0;
    /*
     * What O_DIRECT asks of alignment on the file's filesystem, a slice does not. The kernel fails
     * opens that are to keep pages of what is passed through, which has none.
     */
    if (handle->backing != 0) {
        info->direct_io = (info->flags & O_DIRECT) != 0;
        info->keep_cache = false;
    }
    handle->direct = info->direct_io || handle->backing != 0;
    if (handle->writes && !handle->passed && (!info->direct_io || session->mode->maps_direct))
        fs_handle_holds(&session->slices, handle);
    handle->fills = handle->writes && !handle->direct && !session->mode->holds_writes;
    if (handle->fills)
        fs_refills_join(&handle->slice->refills, mpiio_clock());
    fs_grants_joined(session, handle);
    info->keep_cache = info->keep_cache && keeps_pages(session, handle);
    if (info->direct_io && handle->reads && session->prefetchers.count > 0 && !atomic)
        handle->prefetch = fs_prefetch_new(&session->prefetchers, handle->slice, fs_read_file);
}

static int open_slice(struct fs_session *session, fuse_ino_t inode, pid_t thread,
                      struct fs_handle *handle, struct fuse_file_info *info)
{
    struct fs_node node = fs_tree_node(&session->tree, inode);
    int error;

    handle->shared = node.shared || node.ordered;
    fs_atomic_enter(&session->atomic);
    error = fs_slice_of(session, node, &handle->slice);
    if (error != 0)
        fs_atomic_leave(&session->atomic); /* else that comes with the handle's end */
    handle->reads = (info->flags & O_ACCMODE) != O_WRONLY;
    handle->writes = (info->flags & O_ACCMODE) != O_RDONLY;
    if (error == 0)
        error = check_access(session, handle->slice, info->flags);
    handle->joins_writers = error == 0 && session->mode->holds_writes && handle->writes &&
                            fs_slices_is_written(&session->slices, handle->slice);
    if (error == 0 && node.ordered)
        inode = handle->slice->inode;
    if (error == 0)
        error = fs_handle_join(&session->slices, handle, inode, thread);
    /* Whoever writes later drops the pages of this slice, which is open now; what was written
       before shows in the version. */
    if (error == 0)
        error = fs_version_now(session, &handle->version);
    if (error == 0 && node.ordered)
        error = fs_ordered_open(session, node, handle);
    if (error != 0)
        return error;
    choose_source(session, handle, info);
    atomic_init(&handle->unsynced, handle->passed && handle->writes);
    atomic_init(&handle->pending, !info->keep_cache);
    info->noflush = !handle->writes;
    return 0;
}

static int open_text(struct fs_session *session, struct fs_node node, struct fs_handle *handle,
                     struct fuse_file_info *info)
{
    handle->text = node.kind == FS_STATS ? fs_stats_text(session) : strdup(session->resolved);
    if (handle->text == NULL)
        return -ENOMEM;
    handle->length = strlen(handle->text);
    info->direct_io = 1; /* the size that the kernel knows is that of another moment */
    info->noflush = 1;
    return 0;
}

static void close_handle(struct fs_session *session, struct fs_handle *handle)
{
    fs_prefetch_put(handle->prefetch);
    if (handle->entered)
        fs_passthrough_leave(session, handle->passed);
    fs_ordered_close(session, handle);
    if (handle->fills)
        fs_refills_leave(&handle->slice->refills);
    if (handle->slice != NULL) {
        fs_grants_leave(session, handle);
        if (fs_handle_leave(&session->slices, handle))
            fs_give_up(session, handle->slice);
        fs_grants_left(session, handle->slice);
        fs_atomic_leave(&session->atomic);
    }
    fs_handle_free(&session->slices, handle);
}

static int do_open(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);
    struct fs_node node = fs_tree_node(&session->tree, inode);
    struct fs_handle *handle;
    int error;

    if (node.kind == FS_NONE)
        return -ENOENT;
    if (node.kind != FS_SLICE && (info->flags & O_ACCMODE) != O_RDONLY)
        return -EACCES;
    handle = calloc(1, sizeof(*handle));
    if (handle == NULL)
        return -ENOMEM;
    error = node.kind == FS_SLICE
                ? open_slice(session, inode, fuse_req_ctx(request)->pid, handle, info)
                : open_text(session, node, handle, info);
    if (error != 0)
        close_handle(session, handle);
    else
        info->fh = (uintptr_t)handle;
    return error;
}

void fs_open_reply(struct fs_session *session, fuse_req_t request,
                   const struct fuse_file_info *info)
{
    const struct fs_handle *handle = fs_handle_of(info);

    /* What is written to "shared" has its place from the pointer, and so needs no order from the
       kernel; to "ordered" and to a sequential file it goes one behind the other. */
    fs_open_answer_next(handle->backing, handle->shared,
                        handle->shared && handle->share == NULL && session->stream == NULL);
    if (fuse_reply_open(request, info) == -ENOENT)
        close_handle(session, fs_handle_of(info));
}

/* Whether the kernel is to drop pages through which others write. A drop that is to come is noted,
   for writers who join before it. */
static bool drops_others(const struct fs_handle *handle, const struct fuse_file_info *info)
{
    return handle->slice != NULL && !handle->shared && handle->backing == 0 && !info->keep_cache &&
           fs_refills_opened(&handle->slice->refills, handle->fills, mpiio_clock());
}

/*
 * What the kernel has not sent yet is cut off with O_TRUNC: of what others have written it sends
 * all before the open is answered. And where others write through the pages that the kernel is to
 * drop, it does so before, not some time after the answer.
 */
static bool is_handed_over(struct fs_session *session, fuse_req_t request, fuse_ino_t inode,
                           const struct fuse_file_info *info)
{
    const struct fs_handle *handle = fs_handle_of(info);

    return (handle->joins_writers || drops_others(handle, info)) &&
           fs_notifier_open(&session->notifier, handle->slice, inode, request, info) == 0;
}

void fs_open(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);
    int error;

    fs_count(session, FS_OPEN);
    /* The mount serves by now, and a file takes over the readahead that is set when it opens. */
    if (!atomic_exchange(&session->readahead, true))
        fs_readahead_raise(session->mountpoint, session->options->max_read);
    fs_listed_forget(session, inode);
    error = do_open(request, inode, info);
    if (error != 0)
        fuse_reply_err(request, -error);
    else if (!is_handed_over(session, request, inode, info))
        fs_open_reply(session, request, info);
}

/*
 * close(2). The kernel has sent what it held back of the slice before, and tells of its errors
 * itself; what is left to tell is that others could not have the file stored, and that something
 * of the slice is not stored yet, or has no value that can be.
 */
static int do_flush(struct fs_session *session, struct fs_handle *handle, int torn)
{
    int error = fs_sync_missed(session, handle);

    if (handle->slice == NULL)
        return error;
    if (error == 0 && handle->passed && handle->writes)
        error = fs_passthrough_end_whole(session, handle->slice);
    if (error == 0)
        error = torn;
    if (error == 0)
        error = fs_losses_error(&session->losses, handle->slice->data);
    if (error == 0 && handle->share != NULL)
        error = mpiio_share_error(handle->share);
    return error != 0 ? error : fs_flush_error(session, handle);
}

static void tell_flushed(struct fs_session *session, struct fs_waiter *waiter,
                         const struct fs_flushed *flushed)
{
    (void)flushed; /* what it says of this slice is told by do_flush */
    fuse_reply_err(waiter->request, -do_flush(session, waiter->handle, waiter->torn));
    free(waiter);
}

/* Where what was written is still on this node, the close is answered when it is in the file. */
void fs_flush(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);
    struct fs_handle *handle = fs_handle_of(info);
    struct fs_waiter waiter = {.done = tell_flushed, .request = request, .handle = handle};

    (void)inode;
    fs_count(session, FS_OTHER);
    fs_handle_flushed(&session->slices, handle);
    fs_ordered_flushed(session, handle);
    if (handle->slice != NULL && handle->writes && fs_flush_first(session, &waiter) == 0)
        return;
    if (handle->slice != NULL && !handle->writes)
        fs_store_lost(session);
    fuse_reply_err(request, -do_flush(session, handle, waiter.torn));
}

void fs_release(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);

    (void)inode;
    close_handle(session, fs_handle_of(info));
    fs_count(session, FS_RELEASE);
    fuse_reply_err(request, 0);
}
