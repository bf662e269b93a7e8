/* SPDX-License-Identifier: MIT */
#include "shared.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fd_link.h"
#include "fusefs/kernel/passthrough.h"
#include "fusefs/kernel/sync.h"
#include "handle_ops.h"
#include "viewspec/members/members.h"

/* "shared" of a FIFO or a character device. */

/* A wait inside a request, which the kernel may interrupt. */
struct waiting {
    struct mpiio_stream *stream;
    struct mpiio_stream_waiter waiter;
};

static int refuse(const struct fs_session *session, const char *what)
{
    return fs_fail(session->options, 2, "%s: sequential: %s", session->options->spec_name, what);
}

static int refuse_options(const struct fs_session *session)
{
    const struct fs_options *options = session->options;
    const char *what = NULL;

    if (vs_spec_members(session->spec) != NULL)
        what = "not possible with an assembled file";
    else if (fs_cluster_is_on(&session->cluster))
        what = "not possible on several nodes";
    else if (options->access == FS_ACCESS_RW)
        what = "rw: the file is either read (ro) or written";
    else if (options->create || options->delete_on_close)
        what = "not possible with create or delete_on_close";
    else if (options->append || options->atomic || vs_spec_atomic(session->spec))
        what = "not possible with append or atomic";
    else if (options->npy || options->nc || options->vti || options->zarr)
        what = "not possible with npy, nc, vti or zarr";
    else if (options->cache == FS_CACHE_BACK)
        what = "not possible with cache=back";
    else if (options->allow_other)
        what = "not possible with allow_other";
    return what != NULL ? refuse(session, what) : 0;
}

/* Creates the store as an empty file with a descriptor but no name. */
static int open_empty(struct fs_session *session)
{
    char path[MPIIO_FD_LINK_SIZE];
    int fd = memfd_create("sequential", MFD_CLOEXEC);
    int error;

    if (fd < 0)
        return -errno;
    mpiio_fd_link(fd, path);
    error = mpiio_store_open(path, O_RDWR, &session->store);
    close(fd);
    return error;
}

int fs_sequential_prepare(struct fs_session *session)
{
    const struct fs_options *options = session->options;
    const char *path = vs_spec_file(session->spec);
    struct stat st;
    int error = refuse_options(session);

    if (error != 0)
        return error;
    session->file = realpath(path, NULL);
    if (session->file == NULL || stat(session->file, &st) != 0)
        error = -errno;
    else if (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
        error = -EINVAL;
    else
        error = open_empty(session);
    session->read_only = options->access == FS_ACCESS_RO ? -EROFS : 0;
    return error != 0
               ? fs_fail(options, 1, "%s: %s", path,
                         error == -EINVAL ? "not a FIFO or a character device" : strerror(-error))
               : 0;
}

int fs_sequential_open(struct fs_session *session)
{
    const struct fs_options *options = session->options;
    int error;

    session->shared_ops = options->sequential ? &fs_sequential_ops : &fs_shared_ops;
    if (!options->sequential)
        return 0;
    if (session->tree.views > 1)
        return refuse(session, "only one view can be mounted");
    if (!fs_tree_has_shared(&session->tree, 0) || !fs_passthrough_is_identity(session->common[0]))
        return refuse(session, "the view has gaps, a displacement, an end or another "
                               "representation, or is not that of all ranks");
    error =
        mpiio_stream_open(session->file, options->access != FS_ACCESS_RO,
                          (size_t)vs_view_facts(session->common[0])->etype_size, &session->stream);
    session->tree.sequential = true;
    return error != 0 ? fs_fail(options, 1, "%s: %s", session->file, strerror(-error)) : 0;
}

static void on_interrupt(fuse_req_t request, void *data)
{
    struct waiting *waiting = data;

    (void)request;
    mpiio_stream_interrupt(waiting->stream, &waiting->waiter);
}

static void begin(struct fs_session *session, fuse_req_t request, struct waiting *waiting)
{
    *waiting = (struct waiting){.stream = session->stream};
    if (request != NULL)
        fuse_req_interrupt_func(request, on_interrupt, waiting);
    fs_workers_pause(&session->workers);
}

static void end(struct fs_session *session, fuse_req_t request)
{
    fs_workers_resume(&session->workers);
    if (request != NULL)
        fuse_req_interrupt_func(request, NULL, NULL);
}

static ssize_t sequential_read(struct fs_read *read)
{
    struct fs_session *session = read->session;
    struct waiting waiting;
    ssize_t got;

    begin(session, read->request, &waiting);
    got = mpiio_stream_read(session->stream, read->buffer, read->size, &waiting.waiter);
    end(session, read->request);
    return got;
}

/*
 * Writes whole etypes. Returns the number of bytes or a negative errno. request: as in
 * fs_sequential_place.
 */
static ssize_t write_etypes(struct fs_session *session, fuse_req_t request, const char *buffer,
                            size_t size)
{
    size_t etype = (size_t)vs_view_facts(session->common[0])->etype_size;
    struct waiting waiting;
    ssize_t put;

    /* Only the first part of a call that continues takes effect. */
    if (size == FS_WRITE_MAX)
        size -= size % etype;
    if (size == 0 || size % etype != 0)
        return -EINVAL;
    begin(session, request, &waiting);
    put = mpiio_stream_write(session->stream, buffer, size, &waiting.waiter);
    end(session, request);
    return put;
}

int fs_sequential_place(struct fs_session *session, fuse_req_t request, const char *buffer,
                        size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t put = write_etypes(session, done == 0 ? request : NULL, buffer + done, size - done);

        if (put <= 0)
            return put < 0 ? (int)put : -EIO;
        done += (size_t)put;
    }
    return 0;
}

static ssize_t sequential_write(struct fs_write *write)
{
    return write_etypes(write->session, write->request, write->buffer, write->size);
}

const struct fs_handle_ops fs_sequential_ops = {
    .positionless = true,
    .unseen = true,
    .open = fs_shared_open,
    .release = fs_slice_release,
    .read = sequential_read,
    .write = sequential_write,
    .fsync = fs_flush_first,
    .flush = fs_handle_error,
};
