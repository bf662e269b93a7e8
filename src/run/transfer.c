/* SPDX-License-Identifier: MIT */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include "transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/grant.h"
#include "core/base/guard.h"
#include "core/slice_access.h"
#include "descriptors.h"
#include "grant.h"
#include "stats.h"

/* A read or a write that is being served. */
struct run_call {
    struct run_open *open;
    int fd;
    const struct iovec *parts;
    int count;
    size_t length;  /* bytes of the parts */
    int64_t offset; /* in the slice */
    bool writing;
};

#define MOST 0x7ffff000 /* the maximum that Linux transfers in a call */
/* The mount serves longer calls on "shared", and splits them. */
#define TAKE_MOST MPIIO_GRANT_RANGE_MAX
#define COPY_PART (256 << 10)
#define COPY_MOST (8 << 20)

/* Returns the number of bytes of a request, or 0 if the system must judge it. */
static size_t length_of(const struct iovec *parts, int count)
{
    size_t length = 0;

    if (count < 0 || count > IOV_MAX)
        return 0;
    for (int i = 0; i < count; i++) {
        if (parts[i].iov_len > MOST - length)
            return 0;
        length += parts[i].iov_len;
    }
    return length;
}

/* Transfers the bytes of the call between its buffers, in order, and the slice. Returns the number
   of bytes, or an error if there are none. */
static ssize_t move_bytes(const struct run_call *call)
{
    struct mpiio_slice *slice = call->open->slice;
    size_t moved = 0;

    for (int i = 0; i < call->count && moved < call->length; i++) {
        size_t rest = call->length - moved;
        size_t length = call->parts[i].iov_len < rest ? call->parts[i].iov_len : rest;
        void *buffer = call->parts[i].iov_base;
        int64_t offset = call->offset + (int64_t)moved;
        ssize_t part = call->writing ? mpiio_slice_write(slice, buffer, length, offset)
                                     : mpiio_slice_read(slice, buffer, length, offset);

        if (part < 0)
            return moved > 0 ? (ssize_t)moved : part;
        moved += (size_t)part;
        if ((size_t)part < length)
            break;
    }
    return (ssize_t)moved;
}

static void count_served(bool writing, size_t bytes)
{
    run_stats_add(writing ? RUN_WRITES : RUN_READS, 1);
    run_stats_add(writing ? RUN_WRITE_BYTES : RUN_READ_BYTES, bytes);
}

/* Serves the call through the grant. If the grant was revoked during a write, repeats the write
   through the mount. */
static bool move_at(const struct run_call *call, ssize_t *result)
{
    struct run_open *open = call->open;

    if (call->writing && !run_mark_passes(open, call->fd, call->offset, (int64_t)call->length)) {
        run_stats_fell_back(RUN_NOT_GIVEN);
        return false;
    }
    *result = move_bytes(call);
    if (*result < 0) {
        run_stats_fell_back(RUN_FAILED);
        return false;
    }
    atomic_thread_fence(memory_order_seq_cst);
    if (call->writing && !run_grant_holds(open, MPIIO_GRANT_WRITE)) {
        run_stats_fell_back(RUN_TAKEN_BACK);
        run_mark_tell(open, call->fd, false);
        *result = RUN_NEXT(pwritev64)(call->fd, call->parts, call->count, call->offset);
        return true;
    }
    if (call->writing)
        run_grant_wrote(call->open, call->fd, call->offset + *result);
    count_served(call->writing, (size_t)*result);
    return true;
}

/* Like move_at, at the descriptor's position. Moves the position first, and then back by the
   bytes that were not transferred. */
static bool move_here(struct run_call *call, ssize_t *result)
{
    int64_t behind = RUN_NEXT(lseek64)(call->fd, (off64_t)call->length, SEEK_CUR);
    size_t done;
    bool served;
    int error;

    if (behind < 0) {
        run_stats_fell_back(RUN_FAILED);
        return false;
    }
    call->offset = behind - (int64_t)call->length;
    served = move_at(call, result);
    error = errno;
    done = served && *result > 0 ? (size_t)*result : 0;
    if (done < call->length)
        RUN_NEXT(lseek64)(call->fd, (off64_t)done - (off64_t)call->length, SEEK_CUR);
    errno = error;
    return served;
}

/*
 * Takes etypes for the call at the shared file pointer, and sets the call's offset and length.
 * Returns false, and does not move the pointer, if the mount must serve the call or report its
 * error. A read takes nothing at the end of the file.
 */
static bool take_etypes(struct run_call *call)
{
    struct mpiio_slice *slice = call->open->slice;
    int64_t etype = vs_view_facts(mpiio_slice_view(slice))->etype_size;
    int64_t count = (int64_t)call->length / etype, limit, first, got;

    if (count == 0 || call->length > TAKE_MOST ||
        (call->writing && (int64_t)call->length % etype != 0)) {
        run_stats_fell_back(RUN_FLAGS);
        return false;
    }
    limit = call->writing ? mpiio_slice_etypes(slice) : mpiio_slice_size(slice);
    if (limit > 0 && !call->writing)
        limit /= etype;
    got = limit < 0 ? limit : mpiio_position_take(call->open->shared, count, limit, &first);
    if (got < 0 || (got == 0 && call->writing)) {
        run_stats_fell_back(RUN_FAILED);
        return false;
    }
    call->length = (size_t)(got * etype);
    if (got > 0) /* a position behind the end may exceed the range of offsets */
        call->offset = first * etype;
    return true;
}

/*
 * Serves a call on "shared". Once its etypes are taken, the mount cannot serve it, because the
 * mount would take others. So errors are final. A write during which the grant was revoked is not
 * repeated; instead, the daemon has the kernel invalidate the pages that it filled meanwhile.
 */
static bool move_shared(struct run_call *call, ssize_t *result)
{
    int error;

    if (!take_etypes(call))
        return false;
    *result = call->length > 0 ? move_bytes(call) : 0;
    error = *result < 0 ? (int)-*result : 0;
    atomic_thread_fence(memory_order_seq_cst);
    if (call->writing && !run_grant_holds(call->open, MPIIO_GRANT_WRITE) &&
        !run_grant_stored(call->fd, call->offset, (int64_t)call->length))
        error = errno;
    if (error == 0) {
        count_served(call->writing, (size_t)*result);
        return true;
    }
    errno = error;
    *result = -1;
    return true;
}

/*
 * Returns true if there is a file size limit. The mount applies it to the slice, but here it would
 * apply to the shared file. It may change at any time, so each write checks it.
 */
static bool is_limited(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

static bool is_allowed(const struct run_call *call)
{
    uint32_t right = call->writing ? MPIIO_GRANT_WRITE : MPIIO_GRANT_READ;
    struct run_open *open = call->open;

    if ((open->rights & right) == 0)
        run_stats_fell_back(RUN_NOT_GIVEN);
    else if (!run_grant_holds(open, right))
        run_stats_fell_back(RUN_TAKEN_BACK);
    else if (call->writing && is_limited())
        run_stats_fell_back(RUN_LIMITED);
    else if (call->writing && run_is_withdrawn(call->fd, open))
        run_stats_fell_back(RUN_FLAGS);
    else if (!call->writing && (int64_t)call->length < open->least)
        run_stats_fell_back(RUN_SHORT);
    else
        return true;
    return false;
}

/* Serves the call if the grant allows it. call->open is set. */
static bool serve_call(struct run_call *call, int64_t offset, ssize_t *result)
{
    call->length = length_of(call->parts, call->count);
    if (call->length == 0 || (offset < 0 && offset != RUN_HERE) ||
        (offset >= 0 && call->open->shared != NULL)) {
        run_stats_fell_back(RUN_FLAGS);
        return false;
    }
    if (!is_allowed(call))
        return false;
    if (call->open->shared != NULL)
        return move_shared(call, result);
    if (offset == RUN_HERE)
        return move_here(call, result);
    call->offset = offset;
    return move_at(call, result);
}

bool run_serve_call(int fd, const struct iovec *parts, int count, int64_t offset, bool writing,
                    ssize_t *result)
{
    struct run_call call = {.fd = fd, .parts = parts, .count = count, .writing = writing};
    struct run_held held;
    bool served = false;
    int error;

    pthread_testcancel(); /* The caught call is a cancellation point. */
    run_hold(&held);
    call.open = run_acquire(fd);
    if (call.open != NULL) {
        served = serve_call(&call, offset, result);
        error = errno;
        if (writing && !served)
            run_mark_tell(call.open, fd, false);
    }
    run_release(call.open);
    if (served && *result < 0)
        held.error = error;
    run_unhold(&held);
    return served;
}

/* Returns true if fd is a granted slice, or a regular file, which sendfile(2) can read. */
static bool is_source(int fd)
{
    struct stat st;

    return run_is_granted(fd) || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode));
}

/* Copies by calls that are caught themselves. They are cancellation points. */
static ssize_t copy_parts(int from, off64_t start, int to, size_t length, char *buffer)
{
    size_t done = 0;

    while (done < length) {
        size_t part = length - done < COPY_PART ? length - done : COPY_PART;
        ssize_t got = pread64(from, buffer, part, start + (off64_t)done);
        ssize_t put = got;

        if (got > 0)
            put = write(to, buffer, (size_t)got);
        if (put <= 0)
            return done > 0 ? (ssize_t)done : put;
        done += (size_t)put;
        if (put < got || (size_t)got < part)
            break;
    }
    return (ssize_t)done;
}

bool run_send(int to, int from, off64_t *offset, size_t length, ssize_t *result)
{
    off64_t start;
    char *buffer;

    if (run_inside > 0 || length == 0 || from == to ||
        (!run_is_granted(from) && !run_is_granted(to)) || !is_source(from) ||
        (fcntl(to, F_GETFL) & O_APPEND) != 0)
        return false;
    start = offset != NULL ? *offset : lseek64(from, 0, SEEK_CUR);
    buffer = start >= 0 ? malloc(COPY_PART) : NULL;
    if (buffer == NULL)
        return false;
    pthread_cleanup_push(free, buffer);
    *result = copy_parts(from, start, to, length < COPY_MOST ? length : COPY_MOST, buffer);
    pthread_cleanup_pop(1);
    if (*result > 0 && offset != NULL)
        *offset += *result;
    else if (*result > 0)
        lseek64(from, *result, SEEK_CUR);
    return true;
}
