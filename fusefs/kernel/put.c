/* SPDX-License-Identifier: MIT */
#include "sync.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/slice_access.h"
#include "drop.h"

/* Stores bytes in slices, and keeps those that cannot be stored. */

void fs_put_note_end(struct fs_slice *slice, int64_t end)
{
    int64_t known = atomic_load(&slice->known_size);

    while (known < end && !atomic_compare_exchange_weak(&slice->known_size, &known, end))
        continue;
}

int fs_put_size(struct fs_session *session, struct fs_slice *slice, int64_t size)
{
    int error =
        size < slice->header ? -EPERM : mpiio_slice_resize(slice->slice, size - slice->header);

    if (error == 0)
        fs_flusher_grew(&session->flusher);
    return error;
}

void fs_put_note(struct fs_session *session, struct fs_slice *slice, int64_t offset, int64_t length)
{
    fs_put_note_end(slice, slice->header + offset + length);
    fs_prefetch_outdate(&session->prefetchers);
    if (fs_atomic_is_on(&session->atomic))
        atomic_store(&session->flusher.own, true);
    fs_flusher_wrote(&session->flusher);
    fs_unwritten_remove(&session->unwritten, slice->data, offset, offset + length);
}

ssize_t fs_put(struct fs_session *session, struct fs_slice *slice, const char *buffer, size_t size,
               off_t offset)
{
    struct mpiio_access memory, *access = &memory;
    ssize_t put =
        fs_atomic_begin(&session->atomic, slice->slice, offset, (int64_t)size, true, &access);

    if (put != 0)
        return put;
    put = mpiio_slice_write_in(slice->slice, buffer, size, offset, access);
    if (put > 0)
        fs_put_note(session, slice, offset, put);
    return fs_atomic_end_write(&session->atomic, slice->slice, access, put);
}

/*
 * Storing dirty pages from the kernel and partially written elements. Both are stored on arrival,
 * or kept if that is impossible.
 */

/* The number of failures that are logged: a full disk must not fill another one with messages. */
#define LOGGED_LOSSES 100

static void note_loss(struct fs_session *session, const struct fs_slice *slice, const char *bytes,
                      size_t length, int64_t offset, int error)
{
    struct fs_node node = fs_tree_node(&session->tree, slice->inode);

    fs_unwritten_add(&session->unwritten, slice->data, bytes, length, offset, error);
    if (atomic_fetch_add(&session->logged_unwritten, 1) < LOGGED_LOSSES)
        fs_log_line(&session->log, MPIIO_LOG_ERROR,
                    "rank %lld: %zu bytes at %" PRId64 " cannot be stored: %s",
                    (long long)node.rank, length, offset, strerror(-error));
}

/*
 * Stores bytes that the kernel held back. Returns the number of leading bytes that were stored; if
 * not all, sets *error. Bytes beyond the end of the slice count as stored, unless the kernel
 * determines the end.
 */
static size_t store_held(struct fs_session *session, struct fs_slice *slice, const char *bytes,
                         size_t length, int64_t offset, int *error)
{
    size_t wanted = length, done = 0;

    if (session->mode != FS_MODE_UNIQUE) {
        int64_t end = mpiio_slice_size(slice->slice);

        if (end < 0) {
            *error = (int)end;
            return 0;
        }
        if (end - offset < (int64_t)wanted)
            wanted = end > offset ? (size_t)(end - offset) : 0;
    }
    while (done < wanted) {
        ssize_t put =
            mpiio_slice_write(slice->slice, bytes + done, wanted - done, offset + (int64_t)done);

        if (put <= 0) {
            *error = put < 0 ? (int)put : -EIO;
            return done;
        }
        done += (size_t)put;
    }
    return length;
}

ssize_t fs_store_page(struct fs_session *session, struct fs_slice *slice, const char *buffer,
                      size_t size, int64_t offset)
{
    int error = 0;
    size_t done = store_held(session, slice, buffer, size, offset, &error);

    if (done > 0) {
        fs_flusher_wrote(&session->flusher);
        fs_unwritten_remove(&session->unwritten, slice->data, offset, offset + (int64_t)done);
    }
    if (done < size)
        note_loss(session, slice, buffer + done, size - done, offset + (int64_t)done, error);
    fs_prefetch_outdate(&session->prefetchers);
    return done < size ? error : (ssize_t)size;
}

static size_t store_again(void *data, uint64_t inode, const char *bytes, size_t length,
                          int64_t offset, int *error)
{
    struct fs_session *session = data;
    struct fs_slice *slice;
    size_t done;

    *error = fs_slice_of(session, fs_tree_node(&session->tree, inode), &slice);
    if (*error != 0)
        return 0;
    done = store_held(session, slice, bytes, length, offset, error);
    if (done > 0)
        fs_flusher_wrote(&session->flusher);
    fs_slices_put(&session->slices, slice);
    return done;
}

void fs_store_unwritten(struct fs_session *session)
{
    fs_unwritten_retry(&session->unwritten, store_again, session);
}

int fs_store_partial(struct fs_session *session, const struct fs_slice *slice)
{
    bool torn = mpiio_slice_is_torn(slice->slice);
    bool begun = fs_unwritten_begin_write(&session->unwritten);
    int64_t offset, length;
    int error = mpiio_slice_settle(slice->slice, false, &offset, &length);

    fs_unwritten_end_write(&session->unwritten, begun);
    if (torn)
        fs_flusher_wrote(&session->flusher);
    return error;
}

/*
 * Invalidates the kernel's pages, which show bytes that were given up or stored as other values.
 * This happens now, or when the slice is opened.
 */
static void drop_given_up(struct fs_session *session, struct fs_slice *slice)
{
    const struct fs_version unknown = {.settled = false};

    fs_slices_set_filled(&session->slices, slice, &unknown);
    fs_drop_later(&session->notifier, slice);
}

void fs_give_up(struct fs_session *session, struct fs_slice *slice)
{
    struct fs_node node = fs_tree_node(&session->tree, slice->inode);
    bool torn = mpiio_slice_is_torn(slice->slice);
    bool begun = fs_unwritten_begin_write(&session->unwritten);
    int64_t offset, length;
    int error;

    while ((error = mpiio_slice_settle(slice->slice, true, &offset, &length)) != 0)
        if (atomic_fetch_add(&session->logged_unwritten, 1) < LOGGED_LOSSES)
            fs_log_line(&session->log, MPIIO_LOG_ERROR,
                        "rank %lld: the element at %" PRId64 " was written in part and is given "
                        "up: %s",
                        (long long)node.rank, offset, strerror(-error));
    fs_unwritten_end_write(&session->unwritten, begun);
    if (torn) {
        fs_flusher_wrote(&session->flusher);
        drop_given_up(session, slice);
    }
}
