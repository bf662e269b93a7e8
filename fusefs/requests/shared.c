/* SPDX-License-Identifier: MIT */
#include "shared.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/*
 * Whether the call that a request of size bytes comes from may go on with another one: max is the
 * most that a request has, or up to a page less where the caller's memory begins within one.
 */
static bool may_go_on(size_t size, int64_t max)
{
    return (int64_t)size > max - sysconf(_SC_PAGESIZE);
}

static int64_t etype_of(const struct fs_slice *slice)
{
    return vs_view_facts(mpiio_slice_view(slice->slice))->etype_size;
}

static size_t view_of(struct fs_session *session, const struct fs_slice *slice)
{
    return fs_tree_node(&session->tree, slice->inode).view;
}

/* For whom a handle takes. */
static uint64_t share_of(const struct fs_handle *handle)
{
    return handle->share != NULL ? mpiio_share_number(handle->share) : MPIIO_POINTERS_ANYBODY;
}

/*
 * The file has no position, and so the first request of a call is at 0. A WRITE that is elsewhere
 * goes on behind the last one: the same call with another part, if that one was as large as can be;
 * else splice(2), which counts by itself.
 */
static bool goes_on(const struct fs_handle *handle, off_t offset)
{
    return offset != 0 && atomic_load(&handle->last_write) != offset;
}

/* From etypes at position to bytes at *offset. */
static ssize_t place(int64_t position, int64_t etypes, int64_t etype, off_t *offset)
{
    if (__builtin_mul_overflow(position, etype, offset))
        return -EFBIG;
    return (ssize_t)(etypes * etype);
}

ssize_t fs_shared_take_read(struct fs_session *session, const struct fuse_file_info *info,
                            size_t size, off_t *offset)
{
    struct fs_handle *handle = fs_handle_of(info);
    int64_t etype = etype_of(handle->slice);
    int64_t room = (int64_t)size / etype, position, end, got;

    /* A page of a mapping belongs to nobody. */
    if (info->lock_owner == 0)
        return -ENODEV;
    if (*offset != 0)
        return 0;
    if (room == 0)
        return -EINVAL;
    end = mpiio_slice_size(handle->slice->slice);
    if (end < 0)
        return (ssize_t)end;
    got = mpiio_pointers_take(session->pointers.pointers, view_of(session, handle->slice),
                              share_of(handle), room, end / etype, &position);
    if (got <= 0)
        return (ssize_t)got;
    return place(position, got, etype, offset);
}

/* How many etypes of a WRITE are to be written: a call that goes on has its first part only. */
static int64_t count_etypes(const struct fuse_file_info *info, size_t size, int64_t etype)
{
    bool full = may_go_on(size, FS_WRITE_MAX);
    int64_t count = (int64_t)size / etype;

    if (count == 0 || (!full && (int64_t)size % etype != 0))
        return -EINVAL;
    /* An append's requests do not tell whether they are the first. */
    return full && (info->flags & O_APPEND) && count > 1 ? count - 1 : count;
}

/* The etypes that the view has room for. */
static int64_t limit_of(const struct fs_slice *slice, int64_t etype)
{
    const struct vs_view *view = mpiio_slice_view(slice->slice);
    const struct vs_map_facts *facts = vs_map_facts(vs_view_map(view));
    int64_t limit = facts->limit / vs_view_facts(view)->etype_file_size;

    return limit < INT64_MAX / etype ? limit : INT64_MAX / etype;
}

ssize_t fs_shared_take_write(struct fs_session *session, const struct fuse_file_info *info,
                             size_t size, off_t *offset)
{
    struct fs_handle *handle = fs_handle_of(info);
    int64_t etype = etype_of(handle->slice);
    int64_t count = count_etypes(info, size, etype), position, got;
    off_t asked = *offset;

    if (info->writepage)
        return -ENODEV;
    if (!(info->flags & O_APPEND) && goes_on(handle, asked))
        return -EMSGSIZE;
    if (count < 0)
        return (ssize_t)count;
    got = mpiio_pointers_take(session->pointers.pointers, view_of(session, handle->slice),
                              share_of(handle), count, limit_of(handle->slice, etype), &position);
    if (got <= 0)
        return got < 0 ? (ssize_t)got : -EFBIG;
    atomic_store(&handle->last_write,
                 may_go_on(size, FS_WRITE_MAX) ? FS_SHARED_CUT : asked + got * etype);
    return place(position, got, etype, offset);
}

int fs_shared_take(struct fs_session *session, const struct fs_slice *slice, uint64_t share,
                   size_t size, off_t *offset)
{
    int64_t etype = etype_of(slice), count = (int64_t)size / etype, position, got;
    ssize_t placed;

    got = mpiio_pointers_take(session->pointers.pointers, view_of(session, slice), share, count,
                              limit_of(slice, etype), &position);
    if (got < count)
        return got < 0 ? (int)got : -EFBIG;
    placed = place(position, got, etype, offset);
    return placed < 0 ? (int)placed : 0;
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
