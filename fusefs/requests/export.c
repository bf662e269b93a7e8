/* SPDX-License-Identifier: MIT */
#include "handle_ops.h"

#include <errno.h>
#include <fcntl.h>

#include "core/export.h"
#include "fusefs/kernel/sync.h"

/*
 * Files for other programs. They bypass the page cache, because the kernel would not know which of
 * their pages a write to a slice changes.
 */

static ssize_t read_ahead(struct fs_session *session, void *export, char *buffer, size_t size,
                          off_t offset)
{
    (void)session;
    return mpiio_export_read(export, buffer, size, offset);
}

static void put_ahead(struct fs_session *session, void *export)
{
    (void)session;
    mpiio_export_close(export);
}

static const struct fs_prefetch_kind export_kind = {.read = read_ahead, .put = put_ahead};

static int export_open(struct fs_session *session, fuse_ino_t inode, pid_t thread,
                       struct fs_handle *handle, struct fuse_file_info *info)
{
    struct vs_export file = {0};
    struct fs_version version;
    int error;

    (void)thread;
    if ((info->flags & O_ACCMODE) != O_RDONLY)
        return -EROFS;
    error = fs_version_now(session, &version); /* what others closed before is visible now */
    if (error == 0)
        error = fs_exports_make(&session->exports, fs_tree_node(&session->tree, inode), &file);
    if (error == 0)
        error = mpiio_export_open(session->store, &file, &handle->export);
    vs_export_free(&file);
    /* With passthrough, writes bypass the daemon and would not discard what was read ahead. */
    if (error == 0 && session->prefetchers.count > 0 &&
        !fs_passthrough_is_on(&session->passthrough))
        handle->prefetch = fs_prefetch_new(&session->prefetchers, &export_kind, handle->export);
    info->direct_io = 1;
    info->noflush = 1;
    return error;
}

static void export_release(struct fs_session *session, struct fs_handle *handle)
{
    (void)session;
    if (handle->prefetch != NULL)
        fs_prefetch_put(handle->prefetch); /* closes the export */
    else
        mpiio_export_close(handle->export);
}

static ssize_t export_read(struct fs_read *read)
{
    return mpiio_export_read(read->handle->export, read->buffer, read->size, read->offset);
}

const struct fs_handle_ops fs_export_ops = {
    .open = export_open,
    .release = export_release,
    .read = export_read,
};
