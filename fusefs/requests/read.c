/* SPDX-License-Identifier: MIT */
#include "read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fusefs/base/buffer.h"
#include "fusefs/kernel/grants.h"
#include "fusefs/kernel/notifier.h"
#include "fusefs/kernel/npy.h"
#include "fusefs/names/handle.h"
#include "ordered.h"
#include "sequential.h"
#include "shared.h"
#include "truncate.h"

/* This thread's buffer for reads; NULL without memory. */
static void *read_buffer(struct fs_session *session)
{
    void *buffer = pthread_getspecific(session->buffer);

    if (buffer == NULL) {
        buffer = fs_buffer_new(FS_READ_MAX);
        if (buffer != NULL && pthread_setspecific(session->buffer, buffer) != 0) {
            free(buffer);
            buffer = NULL;
        }
    }
    return buffer;
}

/*
 * After a read that ended at end: if the kernel knows of a larger slice, the file was truncated,
 * and pages behind the end may be filled with zeros. They must go before the file grows again.
 * Returns a reference to the slice, for drop_pages, or NULL where there is nothing to be done.
 */
static struct fs_slice *notice_end(struct fs_session *session, struct fs_slice *slice,
                                   int64_t wanted, int64_t end)
{
    int64_t known = atomic_load(&slice->known_size);

    /* A kernel that holds writes back knows better. */
    if (session->mode->holds_writes || end >= wanted || end >= known ||
        !atomic_compare_exchange_strong(&slice->known_size, &known, end))
        return NULL;
    return fs_slices_ref(&session->slices, slice);
}

/*
 * Comes after the answer to the read. The kernel takes the slice's new end from a short answer
 * unless it was told to drop pages since it asked: then the reader would get the zeros.
 */
static void drop_pages(struct fs_session *session, struct fs_slice *slice, fuse_ino_t inode)
{
    /* Without memory for it the pages stay until the next open, which drops them. */
    if (fs_notifier_drop(&session->notifier, slice, inode, NULL, NULL) == 0)
        fs_count(session, FS_DROPPED);
    fs_slices_put(&session->slices, slice);
}

static size_t read_text(const struct fs_handle *handle, char *buffer, size_t size, off_t offset)
{
    size_t start = (size_t)offset < handle->length ? (size_t)offset : handle->length;

    if (size > handle->length - start)
        size = handle->length - start;
    memcpy(buffer, handle->text + start, size);
    return size;
}

/* The file's bytes, and over them those that could not be stored in it. */
static ssize_t read_slice(struct fs_session *session, struct fs_slice *slice, char *buffer,
                          size_t size, off_t offset)
{
    struct fs_losses *losses = &session->losses;
    struct mpiio_access memory, *access;
    unsigned changes;
    ssize_t got;

    do {
        changes = atomic_load(&losses->changes);
        access = &memory;
        got =
            fs_atomic_begin(&session->atomic, slice->slice, offset, (int64_t)size, false, &access);
        if (got != 0)
            break;
        got = mpiio_slice_read(slice->slice, buffer, size, offset);
        fs_atomic_end(&session->atomic, access);
        if (got >= 0)
            got = (ssize_t)fs_losses_overlay(losses, slice->data, buffer, (size_t)got, size, offset,
                                             session->mode->holds_writes);
    } while (got >= 0 && atomic_load(&losses->changes) != changes);
    return got;
}

ssize_t fs_read_file(struct fs_session *session, struct fs_slice *slice, char *buffer, size_t size,
                     off_t offset)
{
    size_t head = fs_npy_part(slice, offset, size);
    ssize_t got = 0;
    int error;

    if (head > 0) {
        error = fs_npy_read(slice, buffer, head, offset);
        if (error != 0)
            return error;
    }
    if (head < size)
        got = read_slice(session, slice, buffer + head, size - head,
                         offset + (off_t)head - slice->header);
    return got < 0 ? got : (ssize_t)head + got;
}

/*
 * Reads into buffer, which is this thread's own: the answer outlives the handle if the reader
 * closes it as soon as it has the bytes. Sets cut to the slice if drop_pages is to follow the
 * answer.
 */
static ssize_t do_read(struct fs_session *session, struct fs_handle *handle, char *buffer,
                       size_t size, off_t offset, struct fs_slice **cut)
{
    struct fs_refill read;
    int64_t mark;
    ssize_t got;

    if (buffer == NULL)
        return -ENOMEM;
    if (size > FS_READ_MAX)
        return -EINVAL;
    if (handle->text != NULL)
        return (ssize_t)read_text(handle, buffer, size, offset);
    fs_grants_page(session, handle);
    if (atomic_load_explicit(&handle->pending, memory_order_relaxed) &&
        atomic_exchange(&handle->pending, false))
        fs_slices_set_filled(&session->slices, handle->slice, &handle->version);
    if (!handle->direct)
        fs_refills_read_begin(&handle->slice->refills, &read, offset, size);
    mark = session->mode->holds_writes ? fs_cut_mark(&handle->slice->cut) : FS_UNCUT;
    got = fs_read_file(session, handle->slice, buffer, size, offset);
    if (got > 0)
        fs_truncate_mask(handle->slice, mark, buffer, (size_t)got, offset);
    if (!handle->direct)
        fs_refills_read_end(&handle->slice->refills, &read);
    if (got >= 0)
        *cut = notice_end(session, handle->slice, offset + (off_t)size, offset + got);
    return got;
}

void fs_read(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
             struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);
    char *buffer = read_buffer(session);
    struct fs_slice *cut = NULL;
    struct fs_prefetch *prefetch = fs_handle_of(info)->prefetch;
    const char *ahead = prefetch != NULL ? fs_prefetch_take(prefetch, size, offset) : NULL;
    ssize_t got = (ssize_t)size;

    fs_count(session, FS_READ);
    /* A page of a mapping, whose reader nobody owns, has no turn. */
    if (fs_handle_of(info)->shared && info->lock_owner == 0)
        got = -ENODEV;
    else if (fs_handle_of(info)->share != NULL)
        got = fs_ordered_await(session, request, fs_handle_of(info));
    if (session->stream != NULL && fs_handle_of(info)->shared && got >= 0)
        got = fs_sequential_read(session, request, buffer, size);
    else if (fs_handle_of(info)->shared && got >= 0)
        got = fs_shared_take_read(session, info, size, &offset);
    if (ahead == NULL && got > 0 && (session->stream == NULL || !fs_handle_of(info)->shared))
        got = do_read(session, fs_handle_of(info), buffer, (size_t)got, offset, &cut);
    if (got < 0)
        fuse_reply_err(request, (int)-got);
    else
        fuse_reply_buf(request, ahead != NULL ? ahead : buffer, (size_t)got);
    if (prefetch != NULL)
        fs_prefetch_done(prefetch, size, offset, got, ahead != NULL);
    if (cut != NULL)
        drop_pages(session, cut, inode);
}

/* What the kernel may hold is not in the file yet: all counts as data. */
static int64_t seek_held(struct fs_slice *slice, int64_t start, int whence)
{
    int64_t size = mpiio_slice_size(slice->slice);

    if (size < 0)
        return size;
    if (start >= size)
        return -ENXIO;
    return whence == SEEK_DATA ? start : size;
}

static int64_t seek_slice(struct fs_session *session, struct fs_slice *slice, int64_t start,
                          int whence)
{
    if (fs_handle_may_hold(&session->slices, slice))
        return seek_held(slice, start, whence);
    return whence == SEEK_DATA ? mpiio_slice_seek_data(slice->slice, start)
                               : mpiio_slice_seek_hole(slice->slice, start);
}

/* A kernel that holds writes goes by its own size, with all as data, once it is told -ENOSYS. */
static int64_t do_lseek(struct fs_session *session, struct fs_handle *handle, off_t offset,
                        int whence)
{
    struct fs_slice *slice = handle->slice;
    int64_t start, found;

    if (session->mode->holds_writes)
        return -ENOSYS;
    if (slice == NULL || offset < 0 || (whence != SEEK_DATA && whence != SEEK_HOLE))
        return -EINVAL;
    if (handle->passed)
        return mpiio_store_seek(session->store, offset, whence);
    if (offset < slice->header && whence == SEEK_DATA)
        return offset;
    start = offset < slice->header ? 0 : offset - slice->header;
    found = seek_slice(session, slice, start, whence);
    if (found == -ENXIO && offset < slice->header)
        found = 0; /* nothing behind the header */
    return found < 0 ? found : found + slice->header;
}

void fs_lseek(fuse_req_t request, fuse_ino_t inode, off_t offset, int whence,
              struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);
    int64_t found;

    (void)inode;
    fs_count(session, FS_LSEEK);
    found = do_lseek(session, fs_handle_of(info), offset, whence);
    if (found < 0)
        fuse_reply_err(request, (int)-found);
    else
        fuse_reply_lseek(request, found);
}
