/* SPDX-License-Identifier: MIT */
#include "shared.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "fusefs/kernel/drop.h"
#include "fusefs/kernel/sync.h"
#include "fusefs/storing/flusher.h"
#include "fusefs/storing/nodes.h"
#include "mounts/ending.h"
#include "handle_ops.h"

/* Files of "ordered". */

/* ms for which a reader waits, after a close, for the release that may follow it. */
#define RELEASE_MS 100
/* At the end, in terms of peer_timeout: how long the record may not be readable, and how long each
   turn is waited for if nodes have lost each other. */
#define QUIET 6
#define ALONE 4

/* A request that waits, and that its caller may interrupt. */
struct waiting {
    struct mpiio_ordered_waiter waiter; /* the first member */
    struct mpiio_ordered *ordered;
    fuse_req_t request;
};

static int write_at(struct fs_session *session, struct fs_slice *slice, const char *buffer,
                    size_t length, off_t offset)
{
    while (length > 0) {
        bool begun = fs_unwritten_begin_write(&session->unwritten);
        ssize_t put = fs_put(session, slice, buffer, length, offset);

        fs_unwritten_end_write(&session->unwritten, begun);
        if (put <= 0)
            return put < 0 ? (int)put : -EIO;
        if (!fs_atomic_is_on(&session->atomic))
            fs_overlaps_drop(&session->overlaps, slice, offset, put);
        buffer += put;
        length -= (size_t)put;
        offset += put;
    }
    return 0;
}

static int place(void *data, size_t view, uint64_t share, const void *buffer, size_t length,
                 struct mpiio_ordered_waiter *waiter)
{
    struct fs_session *session = data;
    struct fs_slice *slice;
    off_t offset;
    int error;

    if (session->stream != NULL)
        return fs_sequential_place(
            session, waiter != NULL ? ((struct waiting *)waiter)->request : NULL, buffer, length);
    error = fs_slice_of(session, fs_tree_shared(view), &slice);
    if (error != 0)
        return error;
    error = fs_shared_take(session, slice, share, length, &offset);
    if (error == -ETIMEDOUT)
        error = MPIIO_ORDERED_LATER;
    if (error == 0)
        error = write_at(session, slice, buffer, length, offset);
    fs_slices_put(&session->slices, slice);
    return error;
}

/* The turns. */

static int open_share(void *data, size_t view, int64_t rank, uint64_t *number)
{
    const struct fs_session *session = data;

    return mpiio_pointers_open(session->pointers.pointers, view, rank, number);
}

static int end_share(void *data, size_t view, uint64_t number, uint64_t *turn)
{
    const struct fs_session *session = data;

    return mpiio_pointers_over(session->pointers.pointers, view, number, turn);
}

static void leave(void *data)
{
    struct fs_session *session = data;

    mpiio_pointers_leave(session->pointers.pointers, fs_nodes_all_unmounted(&session->cluster));
}

/* By force, other nodes are not waited for. */
static bool all_over(void *data)
{
    struct fs_session *session = data;

    return atomic_load(&session->jobs.forced) ||
           mpiio_pointers_are_over(session->pointers.pointers);
}

/* An error is reported when the rest is stored. */
static void store_placed(void *data)
{
    struct fs_session *session = data;

    if (fs_cluster_is_on(&session->cluster))
        fs_flusher_wait(&session->flusher, true);
}

int fs_ordered_init(struct fs_session *session)
{
    struct mpiio_ordered_options options = {
        .views = session->tree.views,
        .memory = session->options->dirty_max,
        .turns = {open_share, end_share, leave, all_over, session},
        .place = place,
        .store = store_placed,
        .waits = fs_workers_waits,
        .data = session,
        .waits_data = &session->workers};
    int64_t *etype;
    int error;

    if (session->tree.shared == NULL)
        return 0;
    etype = calloc(options.views, sizeof(*etype));
    if (etype == NULL)
        return -ENOMEM;
    for (size_t view = 0; view < options.views; view++)
        etype[view] =
            session->tree.shared[view] ? vs_view_facts(session->common[view])->etype_size : 1;
    options.etype = etype;
    error = mpiio_ordered_new(&options, &session->ordered);
    session->tree.ordered = error == 0;
    free(etype);
    return error;
}

void fs_ordered_stop(void *data)
{
    struct fs_session *session = data;

    if (session->stream != NULL)
        mpiio_stream_stop(session->stream);
    if (session->ordered != NULL)
        mpiio_ordered_stop(session->ordered);
}

/* The wait for other nodes' contributions while the mount ends. */
struct ending {
    struct fs_session *session;
    uint64_t progress;            /* mpiio_ordered_progress */
    int64_t since;                /* when it changed last, or the wait began: mpiio_clock() */
    struct mounts_ending *report; /* or NULL */
};

/*
 * Returns false if the wait is to end. While all nodes are unmounting, their contributions are
 * placed or skipped as long as the record can be read. If nodes have lost each other, those of
 * other nodes may stay open for ever, so each turn is waited for in vain only so long; silent nodes
 * are skipped before that.
 */
static bool goes_on(void *data)
{
    struct ending *ending = data;
    struct fs_session *session = ending->session;
    uint64_t progress = mpiio_ordered_progress(session->ordered);
    int64_t quiet = mpiio_pointers_quiet(session->pointers.pointers), waited;
    bool goes;

    if (progress != ending->progress)
        ending->since = mpiio_clock();
    ending->progress = progress;
    waited = mpiio_clock() - ending->since;
    if (fs_nodes_all_unmounted(&session->cluster))
        goes = (quiet < waited ? quiet : waited) < QUIET * session->options->peer_timeout;
    else
        goes = waited < ALONE * session->options->peer_timeout;
    if (goes && ending->report != NULL)
        atomic_fetch_add(&ending->report->waits, 1);
    return goes;
}

void fs_ordered_finish(struct fs_session *session, struct mounts_ending *report)
{
    struct ending ending = {.session = session, .since = mpiio_clock(), .report = report};
    int64_t unordered;

    if (session->ordered == NULL)
        return;
    unordered = mpiio_ordered_finish(session->ordered,
                                     fs_cluster_is_on(&session->cluster) ? goes_on : NULL, &ending);
    if (unordered > 0)
        fs_log_line(&session->log, MPIIO_LOG_WARNING,
                    "%lld bytes of ordered were placed before their turn came",
                    (long long)unordered);
}

void fs_ordered_await_releases(struct fs_session *session, size_t view)
{
    struct fs_slice *slice;

    if (!fs_tree_has_ordered(&session->tree, view) ||
        mpiio_clock() - atomic_load(&session->ordered_flushed) > RELEASE_MS ||
        fs_slice_of(session, fs_tree_shared(view), &slice) != 0)
        return;
    fs_handle_await_release(&session->slices, slice, fs_workers_waits, &session->workers);
    fs_slices_put(&session->slices, slice);
}

static void on_interrupt(fuse_req_t request, void *data)
{
    struct waiting *waiting = data;

    (void)request;
    mpiio_ordered_interrupt(waiting->ordered, &waiting->waiter);
}

static int ordered_open(struct fs_session *session, fuse_ino_t inode, pid_t thread,
                        struct fs_handle *handle, struct fuse_file_info *info)
{
    struct fs_node node = fs_tree_node(&session->tree, inode);
    int error =
        fs_shared_open(session, fs_tree_inode(fs_tree_shared(node.view)), thread, handle, info);

    if (error != 0)
        return error;
    error = mpiio_ordered_open(session->ordered, node.view, node.rank, &handle->share);
    if (error != 0) {
        fs_slice_release(session, handle);
        return error;
    }
    handle->taker = mpiio_share_number(handle->share);
    return 0;
}

/* Closes the share, whose bytes are placed when its turn comes. */
static void ordered_release(struct fs_session *session, struct fs_handle *handle)
{
    mpiio_share_close(handle->share);
    fs_slice_release(session, handle);
}

/* Waits until the turn of the handle's contribution, and until all bytes written to it are placed.
   -EINTR: the caller was interrupted. */
static int await_turn(struct fs_session *session, fuse_req_t request, struct fs_handle *handle)
{
    struct waiting waiting = {.ordered = session->ordered, .request = request};
    int error;

    fuse_req_interrupt_func(request, on_interrupt, &waiting);
    error = mpiio_share_await(handle->share, &waiting.waiter);
    fuse_req_interrupt_func(request, NULL, NULL);
    return error;
}

static ssize_t ordered_read(struct fs_read *read)
{
    int error = await_turn(read->session, read->request, read->handle);

    return error != 0 ? error : read->session->shared_ops->read(read);
}

/* Appends to the contribution. */
static ssize_t ordered_write(struct fs_write *write)
{
    struct fs_session *session = write->session;
    struct waiting waiting = {.ordered = session->ordered, .request = write->request};
    ssize_t put;
    int error = 0;

    fs_sync_written(&session->durable, write->handle);
    fuse_req_interrupt_func(write->request, on_interrupt, &waiting);
    put = mpiio_share_write(write->handle->share, write->buffer, write->size, &waiting.waiter);
    fuse_req_interrupt_func(write->request, NULL, NULL);
    if (put > 0 && write->flags & (O_SYNC | O_DSYNC))
        error = await_turn(session, write->request, write->handle);
    return error != 0 ? error : put;
}

static int ordered_fsync(struct fs_session *session, struct fs_waiter *waiter)
{
    int error = await_turn(session, waiter->request, waiter->handle);

    return error != 0 ? error : fs_flush_first(session, waiter);
}

static int ordered_flush(struct fs_session *session, struct fs_handle *handle, int torn)
{
    int error = fs_handle_error(session, handle, torn);

    atomic_store(&session->ordered_flushed, mpiio_clock());
    return error != 0 ? error : mpiio_share_error(handle->share);
}

/* No slice shows written bytes before they are placed in the file. */
const struct fs_handle_ops fs_ordered_ops = {
    .positionless = true,
    .unseen = true,
    .open = ordered_open,
    .release = ordered_release,
    .read = ordered_read,
    .write = ordered_write,
    .fsync = ordered_fsync,
    .flush = ordered_flush,
};
