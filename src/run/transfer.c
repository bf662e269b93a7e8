/* SPDX-License-Identifier: MIT */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include "transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/grant.h"
#include "core/slice.h"
#include "descriptors.h"
#include "grant.h"
#include "next.h"
#include "stats.h"

#define MOST      0x7ffff000 /* bytes that Linux moves in a call */
#define COPY_PART (256 << 10)
#define COPY_MOST (8 << 20)

/* The bytes of a request, or 0 where the system is to judge it. */
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

/* How many bytes were moved, from the first on; an error where none was. */
static ssize_t move(const struct run_open *open, const struct iovec *parts, int count,
                    int64_t offset, bool writing)
{
    ssize_t moved = 0;

    for (int i = 0; i < count; i++) {
        ssize_t part = writing ? mpiio_slice_write(open->slice, parts[i].iov_base, parts[i].iov_len,
                                                   offset + moved)
                               : mpiio_slice_read(open->slice, parts[i].iov_base, parts[i].iov_len,
                                                  offset + moved);

        if (part < 0)
            return moved > 0 ? moved : part;
        moved += part;
        if ((size_t)part < parts[i].iov_len)
            break;
    }
    return moved;
}

static void count_served(bool writing, size_t bytes)
{
    run_stats_add(writing ? RUN_WRITES : RUN_READS, 1);
    run_stats_add(writing ? RUN_WRITE_BYTES : RUN_READ_BYTES, bytes);
}

/* Through the grant, and, where it was taken back before the end of a write, through the mount. */
static bool move_at(struct run_open *open, int fd, const struct iovec *parts, int count,
                    int64_t offset, bool writing, ssize_t *result)
{
    run_inside++;
    *result = move(open, parts, count, offset, writing);
    run_inside--;
    if (*result < 0) {
        run_stats_fell_back(RUN_FAILED);
        return false;
    }
    atomic_thread_fence(memory_order_seq_cst);
    if (writing && !run_grant_holds(open, MPIIO_GRANT_WRITE)) {
        run_stats_fell_back(RUN_TAKEN_BACK);
        *result = RUN_NEXT(pwritev64)(fd, parts, count, offset);
        return true;
    }
    if (writing)
        run_grant_wrote(open, fd, offset + *result);
    count_served(writing, (size_t)*result);
    return true;
}

/* The same where the descriptor is, which is moved before, and back by what was not done. */
static bool move_here(struct run_open *open, int fd, const struct iovec *parts, int count,
                      size_t length, bool writing, ssize_t *result)
{
    int64_t behind = RUN_NEXT(lseek64)(fd, (off64_t)length, SEEK_CUR);
    size_t done;
    bool served;
    int error;

    if (behind < 0) {
        run_stats_fell_back(RUN_FAILED);
        return false;
    }
    served = move_at(open, fd, parts, count, behind - (int64_t)length, writing, result);
    error = errno;
    done = served && *result > 0 ? (size_t)*result : 0;
    if (done < length)
        RUN_NEXT(lseek64)(fd, (off64_t)done - (off64_t)length, SEEK_CUR);
    errno = error;
    return served;
}

/*
 * A limit of files' size is one of the slice's size for the mount, and would be one of the file's
 * here. Whoever sets it, and when: it is looked at before each write.
 */
static bool is_limited(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

static bool is_allowed(const struct run_open *open, size_t length, bool writing)
{
    uint32_t right = writing ? MPIIO_GRANT_WRITE : MPIIO_GRANT_READ;

    if ((open->rights & right) == 0)
        run_stats_fell_back(RUN_NOT_GIVEN);
    else if (!run_grant_holds(open, right))
        run_stats_fell_back(RUN_TAKEN_BACK);
    else if (writing && is_limited())
        run_stats_fell_back(RUN_LIMITED);
    else if (!writing && (int64_t)length < open->least)
        run_stats_fell_back(RUN_SHORT);
    else
        return true;
    return false;
}

bool run_serve(int fd, const struct iovec *parts, int count, int64_t offset, bool writing,
               ssize_t *result)
{
    struct run_open *open = run_inside > 0 ? NULL : run_acquire(fd);
    size_t length;
    bool served = false;
    int error = errno;

    if (open == NULL)
        return false;
    length = length_of(parts, count);
    if (length == 0 || (offset < 0 && offset != RUN_HERE))
        run_stats_fell_back(RUN_FLAGS);
    else if (!is_allowed(open, length, writing))
        served = false;
    else if (offset == RUN_HERE)
        served = move_here(open, fd, parts, count, length, writing, result);
    else
        served = move_at(open, fd, parts, count, offset, writing, result);
    run_release(open);
    if (!served || *result >= 0)
        errno = error;
    return served;
}

static bool is_granted(int fd)
{
    struct run_open *open = run_acquire(fd);

    run_release(open);
    return open != NULL;
}

/* By calls that are caught themselves. */
static ssize_t copy_parts(int from, off64_t start, int to, off64_t *place, size_t length,
                          char *buffer)
{
    size_t done = 0;

    while (done < length) {
        size_t part = length - done < COPY_PART ? length - done : COPY_PART;
        ssize_t got = pread64(from, buffer, part, start + (off64_t)done);
        ssize_t put = got;

        if (got > 0)
            put = place != NULL ? pwrite64(to, buffer, (size_t)got, *place + (off64_t)done)
                                : write(to, buffer, (size_t)got);
        if (put <= 0)
            return done > 0 ? (ssize_t)done : put;
        done += (size_t)put;
        if (put < got || (size_t)got < part)
            break;
    }
    return (ssize_t)done;
}

/* Where fd is to go on is behind what was moved. */
static void advance(int fd, off64_t *offset, ssize_t moved)
{
    if (offset != NULL)
        *offset += moved;
    else
        lseek64(fd, moved, SEEK_CUR);
}

bool run_copy(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t length,
              bool to_place, ssize_t *result)
{
    off64_t start, place = 0;
    char *buffer;

    if (run_inside > 0 || from == to || (!is_granted(from) && !is_granted(to)) ||
        (fcntl(to, F_GETFL) & O_APPEND) != 0)
        return false;
    start = from_offset != NULL ? *from_offset : lseek64(from, 0, SEEK_CUR);
    if (to_place)
        place = to_offset != NULL ? *to_offset : lseek64(to, 0, SEEK_CUR);
    if (start < 0 || place < 0)
        return false;
    buffer = malloc(COPY_PART);
    if (buffer == NULL)
        return false;
    *result = copy_parts(from, start, to, to_place ? &place : NULL,
                         length < COPY_MOST ? length : COPY_MOST, buffer);
    free(buffer);
    if (*result > 0) {
        advance(from, from_offset, *result);
        if (to_place)
            advance(to, to_offset, *result);
    }
    return true;
}
