/* SPDX-License-Identifier: MIT */
#include "operations.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An open file: of a slice, or of a text of .mpiio as it was when it was opened. */
struct handle {
    struct fs_slice *slice; /* a reference, or NULL */

    /*
     * The file's version before this open. If the open had the kernel drop the slice's pages, then
     * those that it holds afterwards are of this version or later; that it has dropped them is
     * sure when the first read comes through this handle, which ends pending.
     */
    struct fs_version version;
    atomic_bool pending;

    char *text;
    size_t length;
};

static struct handle *handle_of(const struct fuse_file_info *info)
{
    return (struct handle *)(uintptr_t)info->fh;
}

static void free_handle(struct fs_session *session, struct handle *handle)
{
    if (handle->slice != NULL)
        fs_slices_put(&session->slices, handle->slice);
    free(handle->text);
    free(handle);
}

static int sample_version(struct fs_session *session, struct fs_version *version)
{
    struct timespec before;
    struct stat st;
    int failed;

    clock_gettime(CLOCK_REALTIME, &before);
    failed = mpiio_store_stat(session->store, &st);
    if (failed == 0)
        *version = fs_version_of(&st, before);
    return failed;
}

static int open_slice(struct fs_session *session, struct fs_node node, struct handle *handle,
                      struct fuse_file_info *info)
{
    struct fs_version filled;
    int failed = fs_slice_of(session, node, &handle->slice);

    if (failed == 0)
        failed = sample_version(session, &handle->version);
    if (failed != 0)
        return failed;
    filled = fs_slices_filled(&session->slices, handle->slice);
    info->keep_cache = fs_version_same(&filled, &handle->version);
    atomic_init(&handle->pending, !info->keep_cache);
    info->noflush = 1;
    return 0;
}

static int open_text(struct fs_session *session, struct fs_node node, struct handle *handle,
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

static int do_open(struct fs_session *session, fuse_ino_t inode, struct fuse_file_info *info)
{
    struct fs_node node = fs_tree_node(&session->tree, inode);
    struct handle *handle;
    int failed;

    if (node.kind == FS_NONE)
        return -ENOENT;
    if ((info->flags & O_ACCMODE) != O_RDONLY || (info->flags & O_TRUNC))
        return -EROFS;
    handle = calloc(1, sizeof(*handle));
    if (handle == NULL)
        return -ENOMEM;
    failed = node.kind == FS_SLICE ? open_slice(session, node, handle, info)
                                   : open_text(session, node, handle, info);
    if (failed != 0)
        free_handle(session, handle);
    else
        info->fh = (uintptr_t)handle;
    return failed;
}

void fs_open(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);
    int failed;

    fs_count(session, FS_OPEN);
    /* The mount serves by now, and a file takes over the readahead that is set when it opens. */
    if (!atomic_exchange(&session->readahead, true))
        fs_readahead_raise(session->mountpoint, session->options->max_read);
    failed = do_open(session, inode, info);
    if (failed != 0)
        fuse_reply_err(request, -failed);
    else if (fuse_reply_open(request, info) == -ENOENT) /* the open was given up meanwhile */
        free_handle(session, handle_of(info));
}

void fs_release(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);

    (void)inode;
    fs_count(session, FS_RELEASE);
    free_handle(session, handle_of(info));
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
static void notice_end(struct fs_session *session, struct fs_slice *slice, int64_t wanted,
                       int64_t end)
{
    int64_t known = atomic_load(&slice->known_size);

    if (end >= wanted || end >= known ||
        !atomic_compare_exchange_strong(&slice->known_size, &known, end))
        return;
    /* Without memory for it the pages stay until the next open, which drops them. */
    if (fs_notifier_drop(&session->notifier, slice, NULL, NULL) == 0)
        fs_count(session, FS_DROPPED);
}

static size_t read_text(const struct handle *handle, char *buffer, size_t size, off_t offset)
{
    size_t start = (size_t)offset < handle->length ? (size_t)offset : handle->length;

    if (size > handle->length - start)
        size = handle->length - start;
    memcpy(buffer, handle->text + start, size);
    return size;
}

/* Reads into buffer, which is this thread's own: the answer outlives the handle if the reader
   closes it as soon as it has the bytes. */
static ssize_t do_read(struct fs_session *session, struct handle *handle, char *buffer, size_t size,
                       off_t offset)
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
    got = mpiio_slice_read(handle->slice->slice, buffer, size, offset);
    if (got >= 0)
        notice_end(session, handle->slice, offset + (off_t)size, offset + got);
    return got;
}

void fs_read(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
             struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);
    char *buffer = read_buffer(session);
    ssize_t got;

    (void)inode;
    fs_count(session, FS_READ);
    got = do_read(session, handle_of(info), buffer, size, offset);
    if (got < 0)
        fuse_reply_err(request, (int)-got);
    else
        fuse_reply_buf(request, buffer, (size_t)got);
}

static int64_t do_lseek(struct handle *handle, off_t offset, int whence)
{
    if (handle->slice == NULL || offset < 0)
        return -EINVAL;
    if (whence == SEEK_DATA)
        return mpiio_slice_seek_data(handle->slice->slice, offset);
    if (whence == SEEK_HOLE)
        return mpiio_slice_seek_hole(handle->slice->slice, offset);
    return -EINVAL;
}

void fs_lseek(fuse_req_t request, fuse_ino_t inode, off_t offset, int whence,
              struct fuse_file_info *info)
{
    int64_t found;

    (void)inode;
    fs_count(fs_session_of(request), FS_LSEEK);
    found = do_lseek(handle_of(info), offset, whence);
    if (found < 0)
        fuse_reply_err(request, (int)-found);
    else
        fuse_reply_lseek(request, found);
}

/*
 * After an fsync a reader sees what others have stored (MPI_File_sync): pages that may be older
 * are dropped before the answer, which is then the notifier's. Returns 1 where it is.
 */
static int do_fsync(struct fs_session *session, fuse_req_t request, struct handle *handle)
{
    struct fs_version filled, version;
    int failed;

    if (handle->slice == NULL)
        return 0;
    failed = sample_version(session, &version);
    if (failed != 0)
        return failed;
    filled = fs_slices_filled(&session->slices, handle->slice);
    if (fs_version_same(&filled, &version))
        return 0;
    failed = fs_notifier_drop(&session->notifier, handle->slice, request, &version);
    return failed != 0 ? failed : 1;
}

void fs_fsync(fuse_req_t request, fuse_ino_t inode, int datasync, struct fuse_file_info *info)
{
    struct fs_session *session = fs_session_of(request);
    int result;

    (void)inode;
    (void)datasync;
    fs_count(session, FS_FSYNC);
    result = do_fsync(session, request, handle_of(info));
    if (result <= 0)
        fuse_reply_err(request, -result);
}
