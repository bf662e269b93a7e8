/* SPDX-License-Identifier: MIT */
#include "shared.h"

#include <errno.h>
#include <unistd.h>

#include "fusefs/kernel/grants.h"
#include "fusefs/kernel/sync.h"
#include "handle_ops.h"

/*
 * Returns true if the system call behind a request of size bytes may continue with another request.
 * max is the maximum size of a request. If the caller's memory begins within a page, a request may
 * be up to a page smaller.
 */
static bool may_go_on(size_t size, int64_t max)
{
    return (int64_t)size > max - sysconf(_SC_PAGESIZE);
}

static int64_t etype_of(const struct fs_slice *slice)
{
    return vs_view_facts(mpiio_slice_view(slice->slice))->etype_size;
}

/*
 * Calls mpiio_pointers_take. Sets *offset to the slice offset of the first etype, and returns the
 * length in bytes.
 */
static int64_t take(const struct fs_session *session, const struct fs_slice *slice, uint64_t share,
                    int64_t count, int64_t limit, off_t *offset)
{
    size_t view = fs_tree_node(&session->tree, slice->inode).view;
    int64_t etype = etype_of(slice), position;
    int64_t got =
        mpiio_pointers_take(session->pointers.pointers, view, share, count, limit, &position);

    if (got > 0 && __builtin_mul_overflow(position, etype, offset))
        return -EFBIG;
    return got > 0 ? got * etype : got;
}

int fs_shared_open(struct fs_session *session, fuse_ino_t inode, pid_t thread,
                   struct fs_handle *handle, struct fuse_file_info *info)
{
    int error = fs_slice_join(session, inode, thread, handle, info);

    if (error != 0)
        return error;
    handle->taker = MPIIO_POINTERS_ANYBODY;
    info->direct_io = handle->direct = true;
    info->nonseekable = true;
    fs_grants_joined(session, handle);
    return 0;
}

/*
 * Returns true if a WRITE continues a call. The file has no positions, so the first request of a
 * call is at offset 0. A WRITE at another offset either continues a call whose last request had the
 * largest size, or comes from splice(2), which counts offsets itself.
 */
static bool goes_on(const struct fs_handle *handle, off_t offset)
{
    return offset != 0 && atomic_load(&handle->last_write) != offset;
}

static ssize_t shared_read(struct fs_read *read)
{
    const struct fs_slice *slice = read->handle->slice;
    int64_t etype = etype_of(slice);
    int64_t room = (int64_t)read->size / etype, end, got;

    if (read->offset != 0)
        return 0;
    if (room == 0)
        return -EINVAL;
    end = mpiio_slice_size(slice->slice);
    if (end < 0)
        return (ssize_t)end;
    got = take(read->session, slice, read->handle->taker, room, end / etype, &read->offset);
    if (got <= 0)
        return got == -ETIMEDOUT ? -EIO : (ssize_t)got;
    read->size = (size_t)got;
    return fs_slice_read_at(read);
}

/*
 * Returns the number of etypes of a WRITE to be written, or -EINVAL. Of a call that continues, only
 * the first part takes effect.
 */
static int64_t count_etypes(const struct fs_write *write, int64_t etype)
{
    bool full = may_go_on(write->size, FS_WRITE_MAX);
    int64_t count = (int64_t)write->size / etype;

    if (count == 0 || (!full && (int64_t)write->size % etype != 0))
        return -EINVAL;
    /*
     * Requests of an append do not show whether they continue a call. A short count ends the call.
     */
    return full && write->appends && count > 1 ? count - 1 : count;
}

static ssize_t shared_write(struct fs_write *write)
{
    struct fs_handle *handle = write->handle;
    int64_t etype = etype_of(handle->slice);
    int64_t count = count_etypes(write, etype), got;
    off_t start = write->offset;

    if (!write->appends && goes_on(handle, write->offset))
        return -EMSGSIZE;
    if (count < 0)
        return (ssize_t)count;
    got = take(write->session, handle->slice, handle->taker, count,
               mpiio_slice_etypes(handle->slice->slice), &write->offset);
    if (got <= 0)
        return got == -ETIMEDOUT ? -EIO : got < 0 ? (ssize_t)got : -EFBIG;
    atomic_store(&handle->last_write,
                 may_go_on(write->size, FS_WRITE_MAX) ? FS_SHARED_CUT : start + got);
    write->size = (size_t)got;
    write->appends = false; /* the pointer determines the offset */
    return fs_slice_write_at(write);
}

int fs_shared_take(struct fs_session *session, const struct fs_slice *slice, uint64_t share,
                   size_t size, off_t *offset)
{
    int64_t count = (int64_t)size / etype_of(slice);
    int64_t got = take(session, slice, share, count, mpiio_slice_etypes(slice->slice), offset);

    if (got < 0)
        return (int)got;
    return got < (int64_t)size ? -EFBIG : 0;
}

int fs_shared_seek(struct fs_session *session, struct fs_node node, const char *text, size_t length)
{
    int64_t position = 0;

    if (length == 0)
        return -EINVAL;
    for (size_t i = 0; i < length; i++)
        if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(position, 10, &position) ||
            __builtin_add_overflow(position, text[i] - '0', &position))
            return -EINVAL;
    return mpiio_pointers_set(session->pointers.pointers, node.view, position);
}

/* The shared file pointer orders writes, so the kernel need not serialize them. */
const struct fs_handle_ops fs_shared_ops = {
    .positionless = true,
    .parallel = true,
    .grantable = true,
    .open = fs_shared_open,
    .release = fs_slice_release,
    .read = shared_read,
    .write = shared_write,
    .fsync = fs_flush_first,
    .flush = fs_handle_error,
};
