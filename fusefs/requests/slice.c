/* SPDX-License-Identifier: MIT */
#include "handle_ops.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/slice_access.h"
#include "fusefs/kernel/drop.h"
#include "fusefs/kernel/grants.h"
#include "fusefs/kernel/sync.h"
#include "fusefs/storing/flusher.h"

/* Open slices, by requests or passed through. */

/*
 * For functions on the path of each read, where the indirect call of the operation is the only one.
 */
#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Reading. */

/*
 * Detects that the file was truncated: a read ended at end, but the kernel knows a larger size. Its
 * pages beyond the end may contain zeros, and must be invalidated before the file grows again.
 * Returns a reference to the slice, or NULL if nothing needs to be done.
 */
static struct fs_slice *notice_end(struct fs_session *session, struct fs_slice *slice,
                                   int64_t wanted, int64_t end)
{
    int64_t known = atomic_load(&slice->known_size);

    /* A kernel that holds writes back has the newer size. */
    if (session->mode == FS_MODE_UNIQUE || end >= wanted || end >= known ||
        !atomic_compare_exchange_strong(&slice->known_size, &known, end))
        return NULL;
    return fs_slices_ref(&session->slices, slice);
}

/* Reads the file's bytes, and overlays the bytes that could not be stored in it. */
static ALWAYS_INLINE ssize_t read_slice(struct fs_session *session, struct fs_slice *slice,
                                        char *buffer, size_t size, off_t offset)
{
    struct fs_unwritten *unwritten = &session->unwritten;
    struct mpiio_access memory, *access;
    unsigned changes;
    ssize_t got;

    do {
        changes = atomic_load(&unwritten->changes);
        access = &memory;
        got =
            fs_atomic_begin(&session->atomic, slice->slice, offset, (int64_t)size, false, &access);
        if (got != 0)
            break;
        got = mpiio_slice_read(slice->slice, buffer, size, offset);
        fs_atomic_end(&session->atomic, access);
        if (got >= 0)
            got = (ssize_t)fs_unwritten_overlay(unwritten, slice->data, buffer, (size_t)got, size,
                                                offset, session->mode == FS_MODE_UNIQUE);
    } while (got >= 0 && atomic_load(&unwritten->changes) != changes);
    return got;
}

/* Reads bytes of a slice, including its NumPy header. Returns their number or a negative errno. */
static ALWAYS_INLINE ssize_t read_file(struct fs_session *session, struct fs_slice *slice,
                                       char *buffer, size_t size, off_t offset)
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

static ssize_t read_ahead(struct fs_session *session, void *slice, char *buffer, size_t size,
                          off_t offset)
{
    return read_file(session, slice, buffer, size, offset);
}

static void put_ahead(struct fs_session *session, void *slice)
{
    fs_slices_put(&session->slices, slice);
}

static void begin_ahead(struct fs_session *session, struct fs_handle *handle)
{
    static const struct fs_prefetch_kind kind = {.read = read_ahead, .put = put_ahead};

    fs_slices_ref(&session->slices, handle->slice);
    handle->prefetch = fs_prefetch_new(&session->prefetchers, &kind, handle->slice);
    if (handle->prefetch == NULL)
        fs_slices_put(&session->slices, handle->slice);
}

ssize_t fs_slice_read_at(struct fs_read *read)
{
    struct fs_session *session = read->session;
    struct fs_handle *handle = read->handle;
    struct fs_slice *slice = handle->slice;
    struct fs_stale_read read_in_flight;
    int64_t mark;
    ssize_t got;

    fs_grants_page(session, handle);
    if (atomic_load_explicit(&handle->pending, memory_order_relaxed) &&
        atomic_exchange(&handle->pending, false))
        fs_slices_set_filled(&session->slices, slice, &handle->version);
    if (!handle->direct)
        fs_stale_read_begin(&slice->stale, &read_in_flight, read->offset, read->size);
    mark = session->mode == FS_MODE_UNIQUE ? fs_cut_mark(&slice->cut) : FS_UNCUT;
    got = read_file(session, slice, read->buffer, read->size, read->offset);
    if (got > 0)
        fs_truncate_mask(slice, mark, read->buffer, (size_t)got, read->offset);
    if (!handle->direct)
        fs_stale_read_end(&slice->stale, &read_in_flight);
    if (got >= 0)
        read->shrunk =
            notice_end(session, slice, read->offset + (off_t)read->size, read->offset + got);
    return got;
}

/* Treats all bytes as data, because bytes that the kernel may hold are not in the file yet. */
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
    if (fs_slices_counts(&session->slices, slice).holders > 0)
        return seek_held(slice, start, whence);
    return whence == SEEK_DATA ? mpiio_slice_seek_data(slice->slice, start)
                               : mpiio_slice_seek_hole(slice->slice, start);
}

static int64_t slice_lseek(struct fs_session *session, struct fs_handle *handle, off_t offset,
                           int whence)
{
    struct fs_slice *slice = handle->slice;
    int64_t start, found;

    if (offset < slice->header && whence == SEEK_DATA)
        return offset;
    start = offset < slice->header ? 0 : offset - slice->header;
    found = seek_slice(session, slice, start, whence);
    if (found == -ENXIO && offset < slice->header)
        found = 0; /* no data after the header */
    return found < 0 ? found : found + slice->header;
}

/* Open and close. */

/*
 * Returns true if the kernel may keep the slice's pages in the presence of grants. Revokes grants
 * before it samples the file's version again, so that no program writes past the kernel in between.
 */
static bool keeps_pages(struct fs_session *session, struct fs_handle *handle)
{
    struct fs_version now;

    if (handle->direct || !fs_grants_are_on(session))
        return true;
    if (fs_grants_is_bare(session, handle))
        return false;
    fs_grants_paged(session, handle->slice);
    return fs_version_now(session, &now) == 0 &&
           fs_slices_is_filled(&session->slices, handle->slice, &now);
}

/* Returns 0 if a slice may be opened with those flags, or a negative errno. */
static int check_access(struct fs_session *session, const struct fs_slice *slice, int flags)
{
    if (session->stream != NULL && session->read_only == 0 && (flags & O_ACCMODE) != O_WRONLY)
        return -EACCES;
    if ((flags & O_ACCMODE) == O_RDONLY)
        return 0;
    if (session->read_only != 0)
        return session->read_only;
    return mpiio_slice_is_writable(slice->slice) ? 0 : -EROFS;
}

int fs_slice_join(struct fs_session *session, fuse_ino_t inode, pid_t thread,
                  struct fs_handle *handle, struct fuse_file_info *info)
{
    int error;

    fs_atomic_enter(&session->atomic);
    error = fs_slice_of(session, fs_tree_node(&session->tree, inode), &handle->slice);
    if (error != 0) {
        fs_atomic_leave(&session->atomic);
        return error;
    }
    handle->reads = (info->flags & O_ACCMODE) != O_WRONLY;
    handle->writes = (info->flags & O_ACCMODE) != O_RDONLY;
    error = check_access(session, handle->slice, info->flags);
    /* The kernel sends dirty pages of others before O_TRUNC discards those that it has not sent. */
    handle->drops_first = error == 0 && session->mode == FS_MODE_UNIQUE && handle->writes &&
                          fs_slices_counts(&session->slices, handle->slice).writers > 0;
    if (error == 0)
        error = fs_handle_join(&session->slices, handle, inode, thread);
    /*
     * The slice is open now, so later writers invalidate its pages. The version includes earlier
     * writes.
     */
    if (error == 0)
        error = fs_version_now(session, &handle->version);
    if (error != 0)
        fs_slice_release(session, handle);
    atomic_init(&handle->pending, true);
    info->noflush = !handle->writes;
    return error;
}

/* Decides whether the kernel accesses the shared file directly. */
static void choose_passthrough(struct fs_session *session, struct fs_handle *handle,
                               struct fuse_file_info *info)
{
    handle->backing = fs_passthrough_enter(&session->passthrough, fuse_session_fd(session->fuse));
    handle->asks = handle->backing == 0;
    if (handle->asks)
        return;
    handle->ops = &fs_passthrough_ops;
    /*
     * A slice does not need the alignment that the file's filesystem may require for O_DIRECT. The
     * kernel rejects opens with both keep_cache and a backing file, for which it has no pages.
     */
    info->direct_io = (info->flags & O_DIRECT) != 0;
    info->keep_cache = false;
}

/*
 * Opens a slice. Decides whether the kernel takes its bytes from the shared file (passthrough),
 * from its page cache, or from the daemon at each call.
 */
static int slice_open(struct fs_session *session, fuse_ino_t inode, pid_t thread,
                      struct fs_handle *handle, struct fuse_file_info *info)
{
    bool atomic, passed;
    int error = fs_slice_join(session, inode, thread, handle, info);

    if (error != 0)
        return error;
    atomic = fs_atomic_is_on(&session->atomic);
    fs_mode_open(session, handle, info);
    info->direct_io |= atomic;
    if (!atomic && fs_passthrough_is_on(&session->passthrough))
        choose_passthrough(session, handle, info);
    passed = handle->backing != 0;
    handle->direct = info->direct_io || passed;
    if (handle->writes && !passed && (!info->direct_io || session->mode == FS_MODE_DIRECT))
        fs_handle_holds(&session->slices, handle);
    handle->fills = handle->writes && !handle->direct && session->mode != FS_MODE_UNIQUE;
    if (handle->fills)
        fs_stale_join(&handle->slice->stale, mpiio_clock());
    fs_grants_joined(session, handle);
    info->keep_cache = info->keep_cache && keeps_pages(session, handle);
    if (info->direct_io && handle->reads && session->prefetchers.count > 0)
        begin_ahead(session, handle);
    atomic_init(&handle->unsynced, passed && handle->writes);
    atomic_init(&handle->pending, !info->keep_cache);
    /*
     * If others write through the pages that the kernel must invalidate, make it invalidate them
     * before the answer, not some time after it. fs_stale_opened records the drop for writers
     * that join before it.
     */
    if (!handle->drops_first && !passed && !info->keep_cache)
        handle->drops_first = fs_stale_opened(&handle->slice->stale, handle->fills, mpiio_clock());
    return 0;
}

void fs_slice_release(struct fs_session *session, struct fs_handle *handle)
{
    fs_prefetch_put(handle->prefetch);
    if (handle->asks || handle->backing != 0)
        fs_passthrough_leave(&session->passthrough, handle->backing != 0);
    if (handle->fills)
        fs_stale_leave(&handle->slice->stale);
    fs_grants_leave(session, handle);
    if (fs_handle_leave(&session->slices, handle))
        fs_give_up(session, handle->slice);
    fs_grants_left(session, handle->slice);
    fs_atomic_leave(&session->atomic);
}

/* Writing. */

/*
 * Appends at the end by the file's size, which may differ from the kernel's, and sets *offset to
 * it. Handles that are opened with O_APPEND have no pages. If a handle got the flag later (fcntl)
 * and the two sizes differ, its pages hold the bytes at the wrong offset.
 */
static ssize_t append(const struct fs_write *write, const char *buffer, size_t size, off_t *offset,
                      const struct mpiio_access *access)
{
    struct fs_session *session = write->session;
    struct fs_slice *slice = write->handle->slice;
    int64_t end;
    ssize_t put = mpiio_slice_append_in(slice->slice, buffer, size, &end, access);

    if (put <= 0)
        return put;
    if (end != *offset && !write->handle->direct)
        fs_drop_later(&session->notifier, slice);
    fs_put_note(session, slice, end, put);
    fs_cut_reach(&slice->cut, end, end + put, NULL, NULL);
    *offset = end;
    return put;
}

/* Writes at the offset chosen by the program or the kernel. */
static ssize_t put_at(const struct fs_write *write, const char *buffer, size_t size, off_t offset)
{
    struct fs_session *session = write->session;
    struct fs_slice *slice = write->handle->slice;
    int64_t end = offset + (int64_t)size;
    int error = 0;

    if (end > fs_cut_mark(&slice->cut)) /* never if the slice is not cut */
        error = fs_truncate_fill_gap(session, write->handle, offset, end, write->mapped);
    if (write->mapped) { /* the kernel does not send the page again */
        ssize_t put = fs_store_page(session, slice, buffer, size, offset);

        return error != 0 ? error : put;
    }
    return error != 0 ? error : fs_put(session, slice, buffer, size, offset);
}

static ssize_t put_data(const struct fs_write *write, const char *buffer, size_t size,
                        off_t *offset)
{
    struct fs_session *session = write->session;
    struct fs_slice *slice = write->handle->slice;
    struct mpiio_access memory, *access = &memory;
    ssize_t put;
    int error;

    if (!write->appends || session->mode == FS_MODE_UNIQUE)
        return put_at(write, buffer, size, *offset);
    error = fs_atomic_begin(&session->atomic, slice->slice, -1, (int64_t)size, true, &access);
    if (error != 0)
        return error;
    put = append(write, buffer, size, offset, access);
    return fs_atomic_end_write(&session->atomic, slice->slice, access, put);
}

/* Writes to a slice that may have a NumPy header. */
static ssize_t put_bytes(struct fs_write *write)
{
    struct fs_slice *slice = write->handle->slice;
    size_t head = write->appends ? 0 : fs_npy_part(slice, write->offset, write->size);
    off_t place = write->offset + (off_t)head - slice->header;
    ssize_t put = 0;
    int error = 0;

    if (head > 0)
        error = fs_npy_write(write, head);
    if (error != 0)
        return error;
    if (head < write->size)
        put = put_data(write, write->buffer + head, write->size - head, &place);
    if (write->appends && put > 0)
        write->offset = place + slice->header;
    return put < 0 ? put : (ssize_t)head + put;
}

/*
 * Returns the slice's size if the file may have bytes behind it: a slice in an order of its own
 * ends before its first etype that is not in the file, wherever the next ones are. Otherwise
 * returns -1.
 */
static int64_t end_inside(struct fs_session *session, const struct fs_handle *handle)
{
    const struct vs_view *view = mpiio_slice_view(handle->slice->slice);

    if (vs_map_facts(vs_view_map(view))->monotonic || session->mode == FS_MODE_UNIQUE ||
        fs_atomic_is_on(&session->atomic))
        return -1;
    return mpiio_slice_size(handle->slice->slice);
}

/*
 * Invalidates the slice's pages behind its former end, if it has grown by more than the bytes of
 * [start, end). The kernel has filled a page there with zeros, and the file may have other bytes.
 */
static void drop_grown(struct fs_session *session, const struct fs_handle *handle, int64_t former,
                       int64_t start, int64_t end)
{
    struct fs_slice *slice = handle->slice;
    int64_t now = former < 0 ? -1 : mpiio_slice_size(slice->slice);

    if (now > former && (former < start || now > end))
        fs_drop_range(&session->dropper, slice, former + slice->header, (size_t)(now - former),
                      false);
}

ssize_t fs_slice_write_at(struct fs_write *write)
{
    struct fs_session *session = write->session;
    struct fs_handle *handle = write->handle;
    int64_t former = end_inside(session, handle), start;
    ssize_t put;
    bool begun;

    fs_grants_page(session, handle);
    fs_sync_written(&session->durable, handle);
    begun = fs_unwritten_begin_write(&session->unwritten);
    put = put_bytes(write);
    fs_unwritten_end_write(&session->unwritten, begun);
    if (handle->fills && !write->mapped)
        fs_drop_written(&session->dropper, handle->slice, write->offset, put > 0 ? (size_t)put : 0);
    start = write->offset - handle->slice->header;
    drop_grown(session, handle, former, start, start + (put > 0 ? put : 0));
    return put;
}

/*
 * Fills the gap before end, so that the range which fallocate(2) adds to a truncated slice reads as
 * zeros.
 */
static int reserve_gap(struct fs_session *session, const struct fs_handle *handle, int64_t end)
{
    bool begun = fs_unwritten_begin_write(&session->unwritten);
    int error = fs_truncate_fill_gap(session, handle, end, end, false);

    fs_unwritten_end_write(&session->unwritten, begun);
    return error;
}

static int slice_fallocate(struct fs_session *session, struct fs_handle *handle, off_t offset,
                           off_t length)
{
    struct fs_slice *slice = handle->slice;
    int64_t end = offset + length;
    off_t head = (off_t)fs_npy_part(slice, offset, (size_t)length);
    int64_t former = end_inside(session, handle);
    int error = 0;

    if (head < length && fs_cut_mark(&slice->cut) != FS_UNCUT)
        error = reserve_gap(session, handle, end - slice->header);
    if (error == 0 && head < length)
        error = mpiio_slice_reserve(slice->slice, offset + head - slice->header, length - head);
    if (error == 0) {
        fs_put_note_end(slice, end);
        fs_flusher_grew(&session->flusher);
    }
    drop_grown(session, handle, former, end, end);
    return error;
}

/* Passthrough. */

static int64_t passthrough_lseek(struct fs_session *session, struct fs_handle *handle, off_t offset,
                                 int whence)
{
    (void)handle;
    return mpiio_store_seek(session->store, offset, whence);
}

static int passthrough_flush(struct fs_session *session, struct fs_handle *handle, int torn)
{
    int ended = handle->writes ? fs_passthrough_end_whole(&session->passthrough, handle->slice) : 0;
    int error = fs_handle_error(session, handle, torn);

    return error != 0 ? error : ended;
}

const struct fs_handle_ops fs_slice_ops = {
    .grantable = true,
    .open = slice_open,
    .release = fs_slice_release,
    .read = fs_slice_read_at,
    .write = fs_slice_write_at,
    .lseek = slice_lseek,
    .fallocate = slice_fallocate,
    .fsync = fs_flush_first,
    .flush = fs_handle_error,
};

/* The kernel accesses the shared file directly, except through descriptors with O_DIRECT. */
const struct fs_handle_ops fs_passthrough_ops = {
    .grantable = true,
    .release = fs_slice_release,
    .read = fs_slice_read_at,
    .write = fs_slice_write_at,
    .lseek = passthrough_lseek,
    .fallocate = slice_fallocate,
    .fsync = fs_flush_first,
    .flush = passthrough_flush,
};
