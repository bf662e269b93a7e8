/* SPDX-License-Identifier: MIT */
#include "requests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "fusefs/base/memory.h"
#include "fusefs/kernel/passthrough.h"
#include "fusefs/kernel/drop.h"
#include "fusefs/kernel/sync.h"
#include "handle_ops.h"

/* Requests on open files. Each calls the operation of its handle. */

/* Undoes the open of a handle and frees it. */
static void close_handle(struct fs_session *session, struct fs_handle *handle)
{
    if (handle->ops->release != NULL)
        handle->ops->release(session, handle);
    fs_handle_free(&session->slices, handle);
}

static const struct fs_handle_ops *ops_of(const struct fs_session *session, struct fs_node node)
{
    if (node.kind == FS_EXPORT)
        return &fs_export_ops;
    if (node.kind != FS_SLICE)
        return &fs_text_ops;
    if (node.ordered)
        return &fs_ordered_ops;
    return node.shared ? session->shared_ops : &fs_slice_ops;
}

static int do_open(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);
    struct fs_node node = fs_tree_node(&session->tree, inode);
    struct fs_handle *handle;
    int error;

    if (node.kind == FS_NONE)
        return -ENOENT;
    handle = calloc(1, sizeof(*handle));
    if (handle == NULL)
        return -ENOMEM;
    handle->ops = ops_of(session, node);
    error = handle->ops->open(session, inode, fuse_req_ctx(request)->pid, handle, info);
    if (error != 0)
        fs_handle_free(&session->slices, handle);
    else
        info->fh = (uintptr_t)handle;
    return error;
}

/* Answers an open. Frees the handle if the kernel has abandoned the open. */
static void reply_open(struct fs_session *session, fuse_req_t request,
                       const struct fuse_file_info *info)
{
    struct fs_handle *handle = fs_handle_of(info);

    fs_open_answer_next(handle->backing, handle->ops->positionless, handle->ops->parallel);
    if (fuse_reply_open(request, info) == -ENOENT)
        close_handle(session, handle);
}

static void answer_open(struct fs_session *session, const struct fs_drop *drop, int error)
{
    struct fuse_file_info info = drop->info;

    info.keep_cache = info.keep_cache || error == 0;
    reply_open(session, drop->request, &info);
}

/* Has the notifier answer an open once the kernel has sent the slice's dirty pages. */
static bool drop_first(struct fs_session *session, fuse_req_t request,
                       const struct fuse_file_info *info)
{
    return fs_drop_queue(&session->notifier, &(struct fs_drop){.slice = fs_handle_of(info)->slice,
                                                               .done = answer_open,
                                                               .request = request,
                                                               .info = *info}) == 0;
}

/*
 * Makes the kernel read ahead in requests of full size, if this process has the permission. The
 * answer to INIT resets the value, so this waits for the first open. Best effort.
 */
static void raise_readahead(const struct fs_session *session)
{
    char path[64];
    int file;

    if (geteuid() != 0 || session->device == 0)
        return;
    snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u/read_ahead_kb", major(session->device),
             minor(session->device));
    file = open(path, O_WRONLY | O_CLOEXEC);
    if (file >= 0) {
        dprintf(file, "%lld", (long long)session->options->max_read / 1024);
        close(file);
    }
}

void fs_open(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);
    int error;

    /* The mount serves by now. A file inherits the readahead setting when it is opened. */
    if (!atomic_exchange(&session->readahead, true))
        raise_readahead(session);
    fs_listed_forget(session, inode);
    error = do_open(request, inode, info);
    if (error != 0)
        fuse_reply_err(request, -error);
    else if (!fs_handle_of(info)->drops_first || !drop_first(session, request, info))
        reply_open(session, request, info);
}

/*
 * Invalidates the pages of a slice that has shrunk. Call it after the answer to the read. The
 * kernel takes the new end of the slice from a short answer, but not if pages were invalidated
 * since the request. Then the reader would get the zeros.
 */
static void drop_pages(struct fs_session *session, struct fs_slice *slice)
{
    /* If memory is short, the pages stay until the next open, which invalidates them. */
    fs_drop_later(&session->notifier, slice);
    fs_slices_put(&session->slices, slice);
}

/* Reads, and answers with the bytes. Nothing uses the handle after the answer, which may end it. */
static void answer_read(struct fs_read *read)
{
    bool atomic = fs_atomic_is_on(&read->session->atomic);
    struct fs_prefetch *prefetch = atomic ? NULL : read->handle->prefetch;
    size_t asked = read->size;
    off_t offset = read->offset;
    const char *ahead = prefetch != NULL ? fs_prefetch_take(prefetch, asked, offset) : NULL;
    ssize_t got = ahead != NULL ? (ssize_t)asked : read->handle->ops->read(read);

    if (got < 0)
        fuse_reply_err(read->request, (int)-got);
    else
        fuse_reply_buf(read->request, ahead != NULL ? ahead : read->buffer, (size_t)got);
    if (prefetch != NULL)
        fs_prefetch_done(prefetch, asked, offset, got, ahead != NULL);
    if (read->shrunk != NULL)
        drop_pages(read->session, read->shrunk);
}

void fs_read(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
             struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);
    struct fs_read read = {.session = session,
                           .request = request,
                           .handle = fs_handle_of(info),
                           .size = size,
                           .offset = offset};
    struct fs_read_buffer *buffer = NULL;
    int error = size > FS_READ_MAX ? -EINVAL : 0;

    (void)inode;
    /* The kernel reads pages of a mapping without a lock owner. */
    if (read.handle->ops->positionless && info->lock_owner == 0)
        error = -ENODEV;
    if (error == 0 && (buffer = fs_read_buffers_take(&session->buffers, size)) == NULL)
        error = -ENOMEM;
    if (error != 0) {
        fuse_reply_err(request, -error);
        return;
    }
    read.buffer = buffer->bytes;
    answer_read(&read);
    fs_read_buffers_put(&session->buffers, buffer);
}

static void reply_written(struct fs_session *session, fuse_req_t request,
                          const struct fs_handle *handle, off_t offset, size_t put, bool direct)
{
    if (handle->ops->unseen)
        fuse_reply_write(request, put);
    else
        fs_mode_wrote(session, request, handle, offset, put, direct);
}

static void tell_written(struct fs_session *session, struct fs_waiter *waiter,
                         const struct fs_flushed *flushed)
{
    int error = fs_sync_reported(session, waiter, flushed);

    if (error != 0)
        fuse_reply_err(waiter->request, -error);
    else
        reply_written(session, waiter->request, waiter->handle, waiter->offset, waiter->size, true);
    free(waiter);
}

/*
 * Syncs a write past the page cache with O_DSYNC or O_SYNC. The kernel leaves that to the daemon;
 * for other writes it sends an fsync. Returns 1 if the request, which has written put bytes, is
 * answered later, 0 if no sync is needed, or a negative errno.
 */
static int sync_direct(const struct fs_write *write, size_t put)
{
    struct fs_waiter waiter = {.done = tell_written,
                               .sync = true,
                               .data_only = (write->flags & O_SYNC) != O_SYNC,
                               .request = write->request,
                               .handle = write->handle,
                               .offset = write->offset,
                               .size = put};

    if (!write->handle->direct || write->mapped || put == 0 || !(write->flags & (O_SYNC | O_DSYNC)))
        return 0;
    return fs_flush_first(write->session, &waiter);
}

void fs_write(fuse_req_t request, fuse_ino_t inode, const char *buffer, size_t size, off_t offset,
              struct fuse_file_info *info)
{
    struct fs_write write = {.session = fs_session_of(request),
                             .request = request,
                             .handle = fs_handle_of(info),
                             .buffer = buffer,
                             .size = size,
                             .offset = offset,
                             .flags = info->flags,
                             .mapped = info->writepage,
                             .appends = (info->flags & O_APPEND) && !info->writepage};
    const struct fs_handle *handle = write.handle;
    ssize_t put;
    int answer;

    (void)inode;
    if (handle->ops->write == NULL)
        put = -EBADF;
    else if (handle->ops->positionless && write.mapped)
        put = -ENODEV;
    else
        put = handle->ops->write(&write);
    answer = put < 0 ? (int)put : sync_direct(&write, (size_t)put);
    if (answer < 0)
        fuse_reply_err(request, -answer);
    else if (answer == 0)
        reply_written(write.session, request, handle, write.offset, (size_t)put,
                      handle->direct && !write.mapped);
}

/* After -ENOSYS, a kernel that holds writes uses its own size, and treats all bytes as data. */
static int64_t do_lseek(struct fs_session *session, struct fs_handle *handle, off_t offset,
                        int whence)
{
    if (session->mode == FS_MODE_UNIQUE)
        return -ENOSYS;
    if (handle->ops->lseek == NULL || offset < 0 || (whence != SEEK_DATA && whence != SEEK_HOLE))
        return -EINVAL;
    return handle->ops->lseek(session, handle, offset, whence);
}

void fs_lseek(fuse_req_t request, fuse_ino_t inode, off_t offset, int whence,
              struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);
    int64_t found;

    (void)inode;
    found = do_lseek(session, fs_handle_of(info), offset, whence);
    if (found < 0)
        fuse_reply_err(request, (int)-found);
    else
        fuse_reply_lseek(request, found);
}

void fs_fallocate(fuse_req_t request, fuse_ino_t inode, int mode, off_t offset, off_t length,
                  struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);
    struct fs_handle *handle = fs_handle_of(info);
    int error = -EOPNOTSUPP;

    (void)inode;
    if (mode == 0 && handle->ops->fallocate != NULL)
        error = handle->ops->fallocate(session, handle, offset, length);
    fuse_reply_err(request, -error);
}

static void tell_synced(struct fs_session *session, struct fs_waiter *waiter,
                        const struct fs_flushed *flushed)
{
    int answer = fs_sync_reported(session, waiter, flushed);

    if (answer == 0)
        answer = fs_mode_refresh(session, waiter->request, waiter->handle);
    if (answer <= 0)
        fuse_reply_err(waiter->request, -answer);
    free(waiter);
}

/* Answers once the written bytes are on the device, like MPI_File_sync. */
void fs_fsync(fuse_req_t request, fuse_ino_t inode, int datasync, struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);
    struct fs_handle *handle = fs_handle_of(info);
    struct fs_waiter waiter = {.done = tell_synced,
                               .sync = true,
                               .data_only = datasync != 0,
                               .request = request,
                               .handle = handle};
    int answer;

    (void)inode;
    answer = handle->ops->fsync != NULL ? handle->ops->fsync(session, &waiter) : 0;
    if (answer <= 0)
        fuse_reply_err(request, -answer);
}

static void reply_flushed(struct fs_session *session, fuse_req_t request, struct fs_handle *handle,
                          int error)
{
    if (handle->ops->flush != NULL)
        error = handle->ops->flush(session, handle, error);
    fuse_reply_err(request, -error);
}

static void tell_flushed(struct fs_session *session, struct fs_waiter *waiter,
                         const struct fs_flushed *flushed)
{
    (void)flushed; /* the operation flush returns the errors of this slice */
    reply_flushed(session, waiter->request, waiter->handle, waiter->torn);
    free(waiter);
}

/* Answers a close. If written bytes are still on this node, answers once they are in the file. */
void fs_flush(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);
    struct fs_handle *handle = fs_handle_of(info);
    struct fs_waiter waiter = {.done = tell_flushed, .request = request, .handle = handle};
    int error;

    (void)inode;
    fs_handle_flushed(&session->slices, handle);
    if (!handle->writes) {
        fs_store_unwritten(session);
        reply_flushed(session, request, handle, 0);
        return;
    }
    error = fs_flush_first(session, &waiter);
    if (error < 0)
        reply_flushed(session, request, handle, error);
}

void fs_release(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);

    (void)inode;
    close_handle(session, fs_handle_of(info));
    fuse_reply_err(request, 0);
}
