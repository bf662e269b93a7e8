/* SPDX-License-Identifier: MIT */
#include "handle.h"
#include "npy.h"
#include "operations.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether a slice may be opened with those flags. */
static int check_access(struct fs_session *session, const struct fs_slice *slice, int flags)
{
    if ((flags & O_ACCMODE) == O_RDONLY)
        return 0;
    if (session->read_only != 0)
        return session->read_only;
    return mpiio_slice_is_writable(slice->slice) ? 0 : -EROFS;
}

/*
 * What is only written goes past the page cache, which would cost a copy, and a request for each
 * page where records begin and end inside one. Where an append ends up is known when it is done:
 * pages would hold it where the kernel believes the end to be.
 */
static bool goes_direct(struct fs_session *session, const struct fs_handle *handle, int flags)
{
    if (fs_atomic_is_on(&session->atomic))
        return true;
    if (session->writeback || !handle->writes)
        return false;
    return (flags & O_APPEND) || (!handle->reads && !fs_handle_is_read(session, handle->slice));
}

static int open_slice(struct fs_session *session, fuse_ino_t inode, pid_t thread,
                      struct fs_handle *handle, struct fuse_file_info *info)
{
    struct fs_version filled;
    int failed;

    fs_atomic_enter(&session->atomic);
    failed = fs_slice_of(session, fs_tree_node(&session->tree, inode), &handle->slice);
    if (failed != 0)
        fs_atomic_leave(&session->atomic); /* else that comes with the handle's end */
    handle->reads = (info->flags & O_ACCMODE) != O_WRONLY;
    handle->writes = (info->flags & O_ACCMODE) != O_RDONLY;
    if (failed == 0)
        failed = check_access(session, handle->slice, info->flags);
    if (failed == 0)
        failed = fs_version_now(session, &handle->version);
    handle->joins_writers = failed == 0 && session->writeback && handle->writes &&
                            fs_slices_is_written(&session->slices, handle->slice);
    if (failed == 0)
        failed = fs_handle_join(session, handle, inode, thread);
    if (failed != 0)
        return failed;
    filled = fs_slices_filled(&session->slices, handle->slice);
    /* A kernel that holds writes back is the only one to change the slice. */
    info->keep_cache = session->writeback || fs_version_same(&filled, &handle->version);
    atomic_init(&handle->pending, !info->keep_cache);
    info->direct_io = goes_direct(session, handle, info->flags);
    handle->direct = info->direct_io;
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

static int do_open(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);
    struct fs_node node = fs_tree_node(&session->tree, inode);
    struct fs_handle *handle;
    int failed;

    if (node.kind == FS_NONE)
        return -ENOENT;
    if (node.kind != FS_SLICE && (info->flags & O_ACCMODE) != O_RDONLY)
        return -EACCES;
    handle = calloc(1, sizeof(*handle));
    if (handle == NULL)
        return -ENOMEM;
    failed = node.kind == FS_SLICE
                 ? open_slice(session, inode, fuse_req_ctx(request)->pid, handle, info)
                 : open_text(session, node, handle, info);
    if (failed != 0)
        fs_handle_free(session, handle);
    else
        info->fh = (uintptr_t)handle;
    return failed;
}

void fs_open_reply(struct fs_session *session, fuse_req_t request,
                   const struct fuse_file_info *info)
{
    if (fuse_reply_open(request, info) == -ENOENT)
        fs_handle_free(session, fs_handle_of(info));
}

/*
 * What the kernel has not sent yet is cut off with O_TRUNC: of what others have written it sends
 * all before the open is answered.
 */
static bool is_handed_over(struct fs_session *session, fuse_req_t request, fuse_ino_t inode,
                           const struct fuse_file_info *info)
{
    const struct fs_handle *handle = fs_handle_of(info);

    return handle->joins_writers &&
           fs_notifier_open(&session->notifier, handle->slice, inode, request, info) == 0;
}

void fs_open(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);
    int failed;

    fs_count(session, FS_OPEN);
    /* The mount serves by now, and a file takes over the readahead that is set when it opens. */
    if (!atomic_exchange(&session->readahead, true))
        fs_readahead_raise(session->mountpoint, session->options->max_read);
    fs_listed_forget(session, inode);
    failed = do_open(request, inode, info);
    if (failed != 0)
        fuse_reply_err(request, -failed);
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
    int failed = fs_sync_missed(session, handle);

    if (handle->slice == NULL)
        return failed;
    if (failed == 0)
        failed = torn;
    if (failed == 0)
        failed = fs_losses_error(&session->losses, handle->slice->data);
    return failed != 0 ? failed : fs_flush_error(session, handle);
}

static void tell_flushed(struct fs_session *session, struct fs_waiter *waiter,
                         const struct fs_flushed *flushed)
{
    (void)flushed; /* what it says of this slice is told by do_flush */
    fuse_reply_err(waiter->request, -do_flush(session, waiter->handle, waiter->torn));
    free(waiter);
}

/*
 * Where what was written is still on this node, the close is answered when it is in the file. True
 * where it will be.
 */
static bool is_flushed_first(struct fs_session *session, fuse_req_t request,
                             struct fs_handle *handle, int torn)
{
    struct fs_flusher *flusher = &session->flusher;

    if (handle->slice == NULL || !handle->writes || !fs_flusher_is_on(flusher) ||
        fs_flusher_is_clean(flusher, false) || fs_atomic_is_on(&session->atomic))
        return false;
    return fs_flush_first(session, &(struct fs_waiter){.done = tell_flushed,
                                                       .request = request,
                                                       .handle = handle,
                                                       .torn = torn}) == 0;
}

void fs_flush(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);
    struct fs_handle *handle = fs_handle_of(info);
    int torn = 0;

    (void)inode;
    fs_count(session, FS_OTHER);
    if (session->writeback)
        fs_handle_flushed(session, handle);
    if (handle->slice != NULL)
        fs_store_lost(session);
    if (handle->slice != NULL && handle->writes)
        torn = fs_settle(session, handle->slice);
    if (!is_flushed_first(session, request, handle, torn))
        fuse_reply_err(request, -do_flush(session, handle, torn));
}

void fs_release(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);

    (void)inode;
    fs_count(session, FS_RELEASE);
    fs_handle_free(session, fs_handle_of(info));
    fuse_reply_err(request, 0);
}

/* This thread's buffer for reads; NULL without memory. */
static void *read_buffer(struct fs_session *session)
{
    void *buffer = pthread_getspecific(session->buffer);

    if (buffer == NULL && posix_memalign(&buffer, 4096, FS_READ_MAX) == 0) {
        if (pthread_setspecific(session->buffer, buffer) != 0) {
            free(buffer);
            buffer = NULL;
        }
    }
    return buffer;
}

/*
 * After a read that ended at end: if the kernel knows of a larger slice, the file was truncated,
 * and pages behind the end may be filled with zeros. They must go before the file grows again.
 */
static void notice_end(struct fs_session *session, struct fs_slice *slice, fuse_ino_t inode,
                       int64_t wanted, int64_t end)
{
    int64_t known = atomic_load(&slice->known_size);

    /* A kernel that holds writes back knows better. */
    if (session->writeback || end >= wanted || end >= known ||
        !atomic_compare_exchange_strong(&slice->known_size, &known, end))
        return;
    /* Without memory for it the pages stay until the next open, which drops them. */
    if (fs_notifier_drop(&session->notifier, slice, inode, NULL, NULL) == 0)
        fs_count(session, FS_DROPPED);
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
    struct mpiio_access access;
    unsigned changes;
    ssize_t got;

    do {
        changes = atomic_load(&losses->changes);
        got = fs_atomic_begin(session, slice, offset, (int64_t)size, false, &access);
        if (got != 0)
            break;
        got = mpiio_slice_read(slice->slice, buffer, size, offset);
        fs_atomic_end(session, &access);
        if (got >= 0)
            got = (ssize_t)fs_losses_overlay(losses, slice->data, buffer, (size_t)got, size, offset,
                                             session->writeback);
    } while (got >= 0 && atomic_load(&losses->changes) != changes);
    return got;
}

/* The file that the slice is: its header, if it has one, and its bytes. */
static ssize_t read_file(struct fs_session *session, struct fs_slice *slice, char *buffer,
                         size_t size, off_t offset)
{
    size_t head = fs_npy_part(slice, offset, size);
    ssize_t got = 0;
    int failed;

    if (head > 0) {
        failed = fs_npy_read(slice, buffer, head, offset);
        if (failed != 0)
            return failed;
    }
    if (head < size)
        got = read_slice(session, slice, buffer + head, size - head,
                         offset + (off_t)head - slice->header);
    return got < 0 ? got : (ssize_t)head + got;
}

/* Reads into buffer, which is this thread's own: the answer outlives the handle if the reader
   closes it as soon as it has the bytes. */
static ssize_t do_read(struct fs_session *session, fuse_ino_t inode, struct fs_handle *handle,
                       char *buffer, size_t size, off_t offset)
{
    ssize_t got;

    if (buffer == NULL)
        return -ENOMEM;
    if (size > FS_READ_MAX)
        return -EINVAL;
    if (handle->text != NULL)
        return (ssize_t)read_text(handle, buffer, size, offset);
    if (atomic_load_explicit(&handle->pending, memory_order_relaxed) &&
        atomic_exchange(&handle->pending, false))
        fs_slices_set_filled(&session->slices, handle->slice, &handle->version);
    got = read_file(session, handle->slice, buffer, size, offset);
    if (got >= 0)
        notice_end(session, handle->slice, inode, offset + (off_t)size, offset + got);
    return got;
}

void fs_read(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
             struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);
    char *buffer = read_buffer(session);
    ssize_t got;

    fs_count(session, FS_READ);
    got = do_read(session, inode, fs_handle_of(info), buffer, size, offset);
    if (got < 0)
        fuse_reply_err(request, (int)-got);
    else
        fuse_reply_buf(request, buffer, (size_t)got);
}

static int64_t do_lseek(struct fs_handle *handle, off_t offset, int whence)
{
    struct fs_slice *slice = handle->slice;
    int64_t start, found;

    if (slice == NULL || offset < 0 || (whence != SEEK_DATA && whence != SEEK_HOLE))
        return -EINVAL;
    if (offset < slice->header && whence == SEEK_DATA)
        return offset;
    start = offset < slice->header ? 0 : offset - slice->header;
    found = whence == SEEK_DATA ? mpiio_slice_seek_data(slice->slice, start)
                                : mpiio_slice_seek_hole(slice->slice, start);
    if (found == -ENXIO && offset < slice->header)
        found = 0; /* nothing behind the header */
    return found < 0 ? found : found + slice->header;
}

void fs_lseek(fuse_req_t request, fuse_ino_t inode, off_t offset, int whence,
              struct fuse_file_info *info)
{
    int64_t found;

    (void)inode;
    fs_count(fs_session_of(request), FS_LSEEK);
    found = do_lseek(fs_handle_of(info), offset, whence);
    if (found < 0)
        fuse_reply_err(request, (int)-found);
    else
        fuse_reply_lseek(request, found);
}
