/* SPDX-License-Identifier: MIT */
#include "ordered.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "fusefs/kernel/overlaps.h"
#include "fusefs/kernel/slice_of.h"
#include "put.h"
#include "sequential.h"
#include "shared.h"

/* So long after a close the release that may follow it is waited for, in ms. */
#define RELEASE_MS 100

/* Who waits in a request, and may be told that its caller does not want to any more. */
struct waiting {
    struct mpiio_ordered_waiter waiter; /* the first member */
    struct mpiio_ordered *ordered;
    fuse_req_t request;
};

static int write_at(struct fs_session *session, struct fs_slice *slice, const char *buffer,
                    size_t length, off_t offset)
{
    while (length > 0) {
        bool begun = fs_losses_begin_write(&session->losses);
        ssize_t put = fs_put(session, slice, buffer, length, offset);

        fs_losses_end_write(&session->losses, begun);
        if (put <= 0)
            return put < 0 ? (int)put : -EIO;
        if (!fs_atomic_is_on(&session->atomic))
            fs_overlaps_drop(session, slice, offset, put);
        buffer += put;
        length -= (size_t)put;
        offset += put;
    }
    return 0;
}

static int place(void *data, size_t view, const void *buffer, size_t length,
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
    error = fs_shared_take(session, slice, length, &offset);
    if (error == 0)
        error = write_at(session, slice, buffer, length, offset);
    fs_slices_put(&session->slices, slice);
    return error;
}

int fs_ordered_init(struct fs_session *session)
{
    struct mpiio_ordered_options options = {.views = session->tree.views,
                                            .ranks = session->tree.ranks,
                                            .memory = session->options->dirty_max,
                                            .place = place,
                                            .waits = fs_workers_waits,
                                            .data = session,
                                            .waits_data = &session->workers};
    int64_t *etype;
    int error;

    /* Rounds are of this node alone. */
    if (session->tree.shared == NULL || session->cluster.nodes > 1)
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

void fs_ordered_stop(void *session)
{
    struct mpiio_ordered *ordered = ((struct fs_session *)session)->ordered;

    fs_sequential_stop(session);
    if (ordered != NULL)
        mpiio_ordered_stop(ordered);
}

void fs_ordered_finish(struct fs_session *session)
{
    if (session->ordered != NULL)
        mpiio_ordered_finish(session->ordered);
}

int fs_ordered_open(struct fs_session *session, struct fs_node node, struct fs_handle *handle)
{
    int error = mpiio_ordered_open(session->ordered, node.view, node.rank, &handle->share);

    if (error == 0)
        atomic_fetch_add(&session->ordered_open, 1);
    return error;
}

void fs_ordered_close(struct fs_session *session, struct fs_handle *handle)
{
    if (handle->share == NULL)
        return;
    mpiio_share_close(handle->share);
    atomic_fetch_sub(&session->ordered_open, 1);
}

void fs_ordered_flushed(struct fs_session *session, const struct fs_handle *handle)
{
    if (handle->share != NULL)
        atomic_store(&session->ordered_flushed, mpiio_clock());
}

void fs_ordered_await_releases(struct fs_session *session, size_t view)
{
    struct fs_slice *slice;

    if (atomic_load(&session->ordered_open) == 0 ||
        mpiio_clock() - atomic_load(&session->ordered_flushed) > RELEASE_MS ||
        !fs_tree_has_ordered(&session->tree, view) ||
        fs_slice_of(session, fs_tree_shared(view), &slice) != 0)
        return;
    fs_handle_await_release(&session->slices, slice);
    fs_slices_put(&session->slices, slice);
}

static void on_interrupt(fuse_req_t request, void *data)
{
    struct waiting *waiting = data;

    (void)request;
    mpiio_ordered_interrupt(waiting->ordered, &waiting->waiter);
}

ssize_t fs_ordered_write(struct fs_session *session, fuse_req_t request, struct fs_handle *handle,
                         const char *buffer, size_t size)
{
    struct waiting waiting = {.ordered = session->ordered, .request = request};
    ssize_t put;

    fuse_req_interrupt_func(request, on_interrupt, &waiting);
    put = mpiio_share_write(handle->share, buffer, size, &waiting.waiter);
    fuse_req_interrupt_func(request, NULL, NULL);
    return put;
}

int fs_ordered_await(struct fs_session *session, fuse_req_t request, struct fs_handle *handle)
{
    struct waiting waiting = {.ordered = session->ordered, .request = request};
    int error;

    fuse_req_interrupt_func(request, on_interrupt, &waiting);
    error = mpiio_share_await(handle->share, &waiting.waiter);
    fuse_req_interrupt_func(request, NULL, NULL);
    return error;
}
