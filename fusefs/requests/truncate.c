/* SPDX-License-Identifier: MIT */
#include "handle_ops.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "fusefs/kernel/drop.h"
#include "fusefs/kernel/sync.h"

/* Truncation of slices, and the filling of gaps with zeros. */

#define ZEROS (256 << 10)

static const char zeros[ZEROS];

/* A gap to fill before a write or in a truncation. */
struct gap {
    struct fs_session *session;
    const struct fs_handle *handle;
    bool resizes; /* the gap belongs to a truncation, during which the kernel sends no pages */
};

/*
 * Returns true if zeros in a gap cannot overwrite data of another program. Two slices that share
 * bytes have two marks, and so has one slice on two nodes. In a view that distributes the file to
 * ranks, one program writes each rank's slice. The slice of a single rank is used by all nodes.
 */
static bool has_one_mark(struct fs_session *session, const struct fs_slice *slice)
{
    struct fs_node node = fs_tree_node(&session->tree, slice->data);
    bool disjoint = false;

    if (session->tree.ranks == 1 || fs_tree_is_whole(&session->tree, node))
        return !fs_cluster_is_on(&session->cluster);
    return fs_overlaps_disjoint(&session->overlaps, node.view, &disjoint) == 0 && disjoint;
}

/*
 * Makes the kernel invalidate the pages of [start, end) of open slices. During a write through
 * pages, which starts at end, the kernel may keep the first page locked until the answer. The
 * notifier invalidates that page a moment later.
 */
static void drop_filled(const struct gap *gap, int64_t start, int64_t end)
{
    struct fs_session *session = gap->session;
    struct fs_slice *slice = gap->handle->slice;
    off_t first = start + slice->header;
    off_t last = end + slice->header;

    if (!gap->resizes)
        last -= last % sysconf(_SC_PAGESIZE);
    if (session->mode == FS_MODE_UNIQUE || fs_atomic_is_on(&session->atomic))
        return;
    fs_overlaps_drop(&session->overlaps, slice, start, end - start);
    if (!gap->handle->direct && first < last)
        fs_drop_range(&session->dropper, slice, first, (size_t)(last - first), !gap->resizes);
    if (fs_slices_counts(&session->slices, slice).readers > 0)
        fs_drop_later(&session->notifier, slice);
}

/*
 * Fills a gap with zeros. Beyond the slice's end nothing is filled, because the file grows with
 * zeros.
 */
static int fill(void *data, int64_t start, int64_t end)
{
    const struct gap *gap = data;
    struct fs_slice *slice = gap->handle->slice;
    int64_t size;

    if (!(gap->session->mode == FS_MODE_UNIQUE ||
          fs_cut_takes_part(&gap->session->slices, gap->handle)) ||
        !has_one_mark(gap->session, slice))
        return 0;
    size = mpiio_slice_size(slice->slice);
    if (size < 0)
        return (int)size;
    if (end > size)
        end = size;
    for (int64_t place = start; place < end;) {
        size_t part = end - place < ZEROS ? (size_t)(end - place) : ZEROS;
        ssize_t put = fs_put(gap->session, slice, zeros, part, place);

        if (put <= 0)
            return put < 0 ? (int)put : -EIO;
        place += put;
    }
    if (start < end)
        drop_filled(gap, start, end);
    return 0;
}

/*
 * Returns true if a kernel that holds writes back may treat the file as empty, and extend it like
 * any other file. The kernel then discards data that others have mapped or that it has not sent
 * yet, so the slice must have a single user.
 */
static bool cuts_held(struct fs_session *session, struct fs_slice *slice)
{
    if (!has_one_mark(session, slice))
        return false;
    return fs_cut_mark(&slice->cut) != FS_UNCUT ||
           fs_slices_counts(&session->slices, slice).handles == 1;
}

void fs_truncate_opened(struct fs_session *session, struct fs_handle *handle, off_t *reported)
{
    struct fs_slice *slice = handle->slice;

    if (!handle->writes)
        return;
    if (session->mode != FS_MODE_UNIQUE) {
        fs_cut_start(&session->slices, handle);
        /* Otherwise the program could map pages that were filled before, beyond the next gap. */
        if (handle->fills)
            fs_drop_range(&session->dropper, slice, 0, 0, false);
    } else if (cuts_held(session, slice)) {
        fs_cut_start(&session->slices, handle);
        fs_slices_renumber(&session->slices);
        *reported = 0;
    }
}

/* Returns true if the slice is cut, and its size is given by the mark. */
static bool follows_mark(struct fs_session *session, const struct fs_handle *handle)
{
    if (fs_cut_mark(&handle->slice->cut) == FS_UNCUT)
        return false;
    return (session->mode == FS_MODE_UNIQUE || fs_cut_takes_part(&session->slices, handle)) &&
           has_one_mark(session, handle->slice);
}

int fs_truncate_to(struct fs_session *session, const struct fs_handle *handle, int64_t size,
                   off_t *reported)
{
    struct fs_slice *slice = handle->slice;
    struct gap gap = {session, handle, true};
    int64_t place = size > slice->header ? size - slice->header : 0, now;
    bool begun;
    int error;

    if (!follows_mark(session, handle))
        return fs_put_size(session, slice, size);
    begun = fs_unwritten_begin_write(&session->unwritten);
    fs_workers_pause(&session->workers);
    error = fs_cut_resize(&slice->cut, place, fill, &gap);
    fs_workers_resume(&session->workers);
    fs_unwritten_end_write(&session->unwritten, begun);
    if (error != 0)
        return error;
    if (session->mode == FS_MODE_UNIQUE)
        *reported = size;
    now = mpiio_slice_size(slice->slice);
    if (now < 0)
        return (int)now;
    return place > now ? fs_put_size(session, slice, size) : 0;
}

int fs_truncate_fill_gap(struct fs_session *session, const struct fs_handle *handle, int64_t start,
                         int64_t end, bool mapped)
{
    struct gap gap = {session, handle, false};
    bool fills = !mapped || session->mode == FS_MODE_UNIQUE;
    int error;

    fs_workers_pause(&session->workers);
    error = fs_cut_reach(&handle->slice->cut, start, end, fills ? fill : NULL, &gap);
    fs_workers_resume(&session->workers);
    return error;
}

void fs_truncate_mask(const struct fs_slice *slice, int64_t mark, char *buffer, size_t size,
                      int64_t offset)
{
    int64_t start;

    if (mark == FS_UNCUT)
        return;
    start = slice->header + mark - offset;
    if (start < 0)
        start = 0;
    if ((uint64_t)start < size)
        memset(buffer + start, 0, size - (size_t)start);
}
