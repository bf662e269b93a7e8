/* SPDX-License-Identifier: MIT */
#include "write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "core/slice_write.h"
#include "fusefs/kernel/drop.h"
#include "fusefs/kernel/grants.h"
#include "fusefs/kernel/held.h"
#include "fusefs/kernel/notifier.h"
#include "fusefs/kernel/npy.h"
#include "fusefs/kernel/slice_of.h"
#include "fusefs/kernel/sync.h"
#include "fusefs/names/handle.h"
#include "fusefs/storing/durable.h"
#include "ordered.h"
#include "put.h"
#include "sequential.h"
#include "shared.h"
#include "truncate.h"

/*
 * An append lands at the end by the file's size, wherever the kernel believes that to be: offset
 * becomes that. Handles that are opened with O_APPEND have no pages; one that got the flag later
 * (fcntl) has them at the wrong place if the two differ.
 */
static ssize_t append(struct fs_session *session, fuse_ino_t inode, const struct fs_handle *handle,
                      const char *buffer, size_t size, off_t *offset,
                      const struct mpiio_access *access)
{
    struct fs_slice *slice = handle->slice;
    int64_t end;
    ssize_t put = mpiio_slice_append_in(slice->slice, buffer, size, &end, access);

    if (put <= 0)
        return put;
    if (end != *offset && !handle->direct &&
        fs_notifier_drop(&session->notifier, slice, inode, NULL, NULL) == 0)
        fs_count(session, FS_DROPPED);
    fs_put_note(session, slice, end, put);
    fs_cut_reach(&slice->cut, end, end + put, NULL, NULL);
    *offset = end;
    return put;
}

/* Answers a write. What is in order has its own place, and others saw it when it came there;
   what is sequential nobody sees. */
static void tell_put(struct fs_session *session, fuse_req_t request, fuse_ino_t inode,
                     const struct fs_handle *handle, off_t offset, size_t put, bool direct)
{
    if (handle->share != NULL || session->stream != NULL)
        fuse_reply_write(request, put);
    else
        session->mode->wrote(session, request, inode, handle, offset, put, direct);
}

static void tell_written(struct fs_session *session, struct fs_waiter *waiter,
                         const struct fs_flushed *flushed)
{
    int error =
        fs_sync_told(session, waiter->handle, flushed->error != 0 ? flushed->error : waiter->torn);

    if (error != 0)
        fuse_reply_err(waiter->request, -error);
    else
        tell_put(session, waiter->request, waiter->inode, waiter->handle, waiter->offset,
                 waiter->size, true);
    free(waiter);
}

/*
 * Past the page cache the kernel leaves O_DSYNC and O_SYNC to us; else it sends an fsync. Returns 1
 * where the request, which has written size bytes, is answered later.
 */
static int sync_direct(struct fs_session *session, fuse_req_t request, fuse_ino_t inode,
                       struct fs_handle *handle, int flags, off_t offset, size_t size)
{
    struct fs_waiter waiter = {.done = tell_written,
                               .sync = true,
                               .data_only = (flags & O_SYNC) != O_SYNC,
                               .request = request,
                               .inode = inode,
                               .handle = handle,
                               .offset = offset,
                               .size = size};
    int error;

    if (!handle->direct || !(flags & (O_SYNC | O_DSYNC)))
        return 0;
    error = fs_flush_first(session, &waiter);
    return error != 0 ? error : 1;
}

/* An append; but to a shared file pointer, which says where its writes go. */
static bool lands_at_end(const struct fuse_file_info *info)
{
    return (info->flags & O_APPEND) && !fs_handle_of(info)->shared;
}

/* Writes where the program, or the kernel, says. */
static ssize_t put_at(struct fs_session *session, fuse_ino_t inode, const char *buffer, size_t size,
                      off_t offset, const struct fuse_file_info *info)
{
    const struct fs_handle *handle = fs_handle_of(info);
    int64_t end = offset + (int64_t)size;
    int error = 0;

    if (end > fs_cut_mark(&handle->slice->cut)) /* never where the slice is not cut */
        error = fs_truncate_fill_gap(session, inode, handle, offset, end, info->writepage);
    if (info->writepage) { /* which the kernel does not send again */
        ssize_t put = fs_store_page(session, handle->slice, buffer, size, offset);

        return error != 0 ? error : put;
    }
    return error != 0 ? error : fs_put(session, handle->slice, buffer, size, offset);
}

static ssize_t put_data(struct fs_session *session, fuse_ino_t inode, const char *buffer,
                        size_t size, off_t *offset, const struct fuse_file_info *info)
{
    struct fs_slice *slice = fs_handle_of(info)->slice;
    struct mpiio_access memory, *access = &memory;
    ssize_t put;
    int error;

    if (info->writepage || !lands_at_end(info) || session->mode->holds_writes)
        return put_at(session, inode, buffer, size, *offset, info);
    error = fs_atomic_begin(&session->atomic, slice->slice, -1, (int64_t)size, true, &access);
    if (error != 0)
        return error;
    put = append(session, inode, fs_handle_of(info), buffer, size, offset, access);
    return fs_atomic_end_write(&session->atomic, slice->slice, access, put);
}

/* The same of a file that may have a header; an append puts its place into offset. */
static ssize_t put_bytes(struct fs_session *session, fuse_ino_t inode, const char *buffer,
                         size_t size, off_t *offset, const struct fuse_file_info *info)
{
    struct fs_slice *slice = fs_handle_of(info)->slice;
    bool appends = lands_at_end(info) && !info->writepage;
    size_t head = appends ? 0 : fs_npy_part(slice, *offset, size);
    off_t place = *offset + (off_t)head - slice->header;
    ssize_t put = 0;
    int error = 0;

    if (head > 0 && info->writepage)
        fs_npy_mapped(session, slice, inode, buffer, head, *offset);
    else if (head > 0)
        error = fs_npy_write(session, slice, inode, buffer, head, *offset);
    if (error != 0)
        return error;
    if (head < size)
        put = put_data(session, inode, buffer + head, size - head, &place, info);
    if (appends && put > 0)
        *offset = place + slice->header;
    return put < 0 ? put : (ssize_t)head + put;
}

/* Returns 1 where the request is answered later; else put is what it is answered with. */
static int write_ordered(struct fs_session *session, fuse_req_t request, fuse_ino_t inode,
                         const char *buffer, size_t size, const struct fuse_file_info *info,
                         ssize_t *put)
{
    struct fs_handle *handle = fs_handle_of(info);
    int error = 0;

    if (info->writepage)
        return -ENODEV;
    fs_sync_written(session, handle);
    *put = fs_ordered_write(session, request, handle, buffer, size);
    if (*put < 0)
        return (int)*put;
    if (info->flags & (O_SYNC | O_DSYNC))
        error = fs_ordered_await(session, request, handle);
    return error != 0 ? error : sync_direct(session, request, inode, handle, info->flags, 0, size);
}

/* The same of any handle of a slice. */
static int do_write(struct fs_session *session, fuse_req_t request, fuse_ino_t inode,
                    const char *buffer, size_t size, off_t *offset,
                    const struct fuse_file_info *info, ssize_t *put)
{
    struct fs_handle *handle = fs_handle_of(info);
    bool begun;

    if (handle->slice == NULL)
        return -EBADF;
    if (handle->share != NULL)
        return write_ordered(session, request, inode, buffer, size, info, put);
    if (session->stream != NULL) {
        *put = fs_sequential_write(session, request, buffer, size);
        return *put < 0 ? (int)*put : 0;
    }
    if (handle->shared) {
        *put = fs_shared_take_write(session, info, size, offset);
        if (*put < 0)
            return (int)*put;
        size = (size_t)*put;
    }
    fs_grants_page(session, handle);
    fs_sync_written(session, handle);
    begun = fs_losses_begin_write(&session->losses);
    *put = put_bytes(session, inode, buffer, size, offset, info);
    fs_losses_end_write(&session->losses, begun);
    if (*put < 0)
        return (int)*put;
    return *put > 0 && !info->writepage
               ? sync_direct(session, request, inode, handle, info->flags, *offset, (size_t)*put)
               : 0;
}

void fs_write(fuse_req_t request, fuse_ino_t inode, const char *buffer, size_t size, off_t offset,
              struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);
    ssize_t put = 0;
    int answer;

    fs_count(session, FS_WRITE);
    answer = do_write(session, request, inode, buffer, size, &offset, info, &put);
    if (fs_handle_of(info)->fills && !info->writepage)
        fs_drop_written(session, fs_handle_of(info)->slice, inode, offset,
                        answer == 0 ? (size_t)put : 0);
    if (answer < 0)
        fuse_reply_err(request, -answer);
    else if (answer == 0)
        tell_put(session, request, inode, fs_handle_of(info), offset, (size_t)put,
                 fs_handle_of(info)->direct && !info->writepage);
}

/* Fills the gap before end, so that what fallocate(2) adds to a truncated slice reads as zeros. */
static int reserve_gap(struct fs_session *session, fuse_ino_t inode, const struct fs_handle *handle,
                       int64_t end)
{
    bool begun = fs_losses_begin_write(&session->losses);
    int error = fs_truncate_fill_gap(session, inode, handle, end, end, false);

    fs_losses_end_write(&session->losses, begun);
    return error;
}

void fs_fallocate(fuse_req_t request, fuse_ino_t inode, int mode, off_t offset, off_t length,
                  struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);
    struct fs_slice *slice = fs_handle_of(info)->slice;
    int64_t end = offset + length;
    size_t head = 0;
    int error = 0;

    fs_count(session, FS_OTHER);
    if (slice == NULL)
        error = -EBADF;
    else if (mode != 0 || fs_handle_of(info)->shared)
        error = -EOPNOTSUPP;
    else
        head = fs_npy_part(slice, offset, (size_t)length);
    if (error == 0 && (off_t)head < length && fs_cut_mark(&slice->cut) != FS_UNCUT)
        error = reserve_gap(session, inode, fs_handle_of(info), end - slice->header);
    if (error == 0 && (off_t)head < length)
        error = mpiio_slice_reserve(slice->slice, offset + (off_t)head - slice->header,
                                    length - (off_t)head);
    if (error == 0)
        fs_put_note_end(slice, end);
    fuse_reply_err(request, -error);
}
