/* SPDX-License-Identifier: MIT */
#include "record.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/file/file.h"
#include "record_private.h"

/* Locks: a byte for the record, behind it one for each node, and before it one for the node that is
   next in turn for the record's. */
#define LOCK_AT ((off_t)1 << 61)
#define LOCK    0
#define NEXT    (-1)

/* ns between two attempts to lock a byte: the first pause, and the longest, for the node that is
   next and for the others. */
#define PAUSE_MIN  50000
#define PAUSE_NEXT 1000000
#define PAUSE_MAX  10000000

/* ms for which a node tries to lock the record before it waits to be next. */
#define SOON 2

/* ms for which a node waits to be next before it only waits for the lock. */
#define NEXT_MAX 200

/* A node that waits for the lock advances its counter so often within the timeout. */
#define BEATS 8

/* A lock that was held for longer, in ms, or for half of the timeout, may have been taken away. */
#define HELD_MAX 20000

/* ms for which a node keeps the lock that has more to do, at most. All nodes together may keep it
   for 1 / KEPT_PART of the timeout. */
#define KEPT_MAX  20
#define KEPT_PART 8

/* Locks. */

static int set_lock(const struct mpiio_record *record, int command, short type, off_t first,
                    off_t count)
{
    struct flock bytes = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = LOCK_AT + first, .l_len = count};

    if (fcntl(record->fd, command, &bytes) != 0)
        return errno == EACCES ? -EAGAIN : -errno;
    return command == F_OFD_GETLK && bytes.l_type != F_UNLCK ? 1 : 0;
}

int mpiio_record_lock_node(const struct mpiio_record *record)
{
    return set_lock(record, F_OFD_SETLK, F_WRLCK, 1 + record->node, 1);
}

bool mpiio_record_has_node(const struct mpiio_record *record, int node)
{
    return set_lock(record, F_OFD_GETLK, F_WRLCK, 1 + node, 1) != 0;
}

bool mpiio_record_is_used(const struct mpiio_record *record)
{
    return set_lock(record, F_OFD_GETLK, F_WRLCK, 1, INT32_MAX) != 0;
}

/* Waits for the lock of a byte until end, mpiio_lease_clock(), with pauses of up to longest ns.
   Sets *since to a time before the lock was acquired. The lock may be lost by the time the call
   returns. */
static int await_byte(struct mpiio_record *record, off_t byte, long longest, int64_t end,
                      int64_t *since)
{
    struct timespec pause = {.tv_nsec = PAUSE_MIN};
    int64_t beat = mpiio_lease_clock() + record->timeout / BEATS;
    int error;

    for (;;) {
        *since = mpiio_lease_clock();
        error = set_lock(record, F_OFD_SETLK, F_WRLCK, byte, 1);
        if (error != -EAGAIN)
            return error;
        if (*since >= end)
            return -ETIMEDOUT;
        if (*since >= beat && record->joined) {
            mpiio_record_beat(record);
            beat = *since + record->timeout / BEATS;
        }
        nanosleep(&pause, NULL);
        pause.tv_nsec = pause.tv_nsec < longest / 2 ? 2 * pause.tv_nsec : longest;
    }
}

/* Waits for the record's lock as the node that is next. */
static int await_as_next(struct mpiio_record *record, int64_t end, int64_t *since)
{
    int64_t now = mpiio_lease_clock();
    int error =
        await_byte(record, NEXT, PAUSE_MAX, end - now < NEXT_MAX ? end : now + NEXT_MAX, since);

    /* The node that is next may be frozen, and the record's lock free. */
    if (error == -ETIMEDOUT)
        return await_byte(record, LOCK, PAUSE_MAX, end, since);
    if (error != 0)
        return error;
    error = await_byte(record, LOCK, PAUSE_NEXT, end, since);
    set_lock(record, F_OFD_SETLK, F_UNLCK, NEXT, 1);
    return error;
}

int mpiio_record_await(struct mpiio_record *record, int64_t end)
{
    int64_t since = 0, soon = mpiio_lease_clock() + SOON;
    int error = -ETIMEDOUT;

    if (!record->yields)
        error = await_byte(record, LOCK, PAUSE_NEXT, soon < end ? soon : end, &since);
    if (error == -ETIMEDOUT)
        error = await_as_next(record, end, &since);
    record->since = error == 0 ? since : 0;
    record->yields = false;
    return error;
}

void mpiio_record_unlock(struct mpiio_record *record)
{
    if (record->since != 0)
        set_lock(record, F_OFD_SETLK, F_UNLCK, LOCK, 1);
    record->since = 0;
}

bool mpiio_record_keeps(struct mpiio_record *record)
{
    int most = record->timeout / (KEPT_PART * record->nodes);

    if (!record->synced || !mpiio_record_is_kept(record))
        return false;
    most = most < KEPT_MAX ? most : KEPT_MAX;
    record->yields = mpiio_lease_clock() - record->since >= most;
    return !record->yields;
}

bool mpiio_record_is_kept(const struct mpiio_record *record)
{
    return record->since != 0 && record->generation != 0 && mpiio_record_is_in_time(record);
}

/* Bytes. */

int mpiio_record_write(const struct mpiio_record *record, const uint8_t *bytes, size_t size,
                       int64_t at)
{
    while (size > 0) {
        ssize_t put = pwrite(record->fd, bytes, size, at);

        if (put <= 0 && (put == 0 || errno != EINTR))
            return put == 0 ? -EIO : -errno;
        if (put < 0)
            continue;
        bytes += put;
        size -= (size_t)put;
        at += put;
    }
    return record->synced && fdatasync(record->fd) != 0 ? -errno : 0;
}

ssize_t mpiio_record_pread(const struct mpiio_record *record, uint8_t *bytes, size_t size,
                           int64_t at)
{
    struct mpiio_counters unused = {0};

    return mpiio_file_pread_all(record->fd, bytes, size, at, &unused);
}

int mpiio_record_renew(struct mpiio_record *record)
{
    struct statx st;

    if (record->coherence == MPIIO_COHERENCE_LOCAL)
        return 0;
    if (record->since == 0)
        return mpiio_freshness_renew(&record->freshness, record->fd, record->coherence);
    /* Clients revalidate when they lock, but for attributes and pages of some FUSE clients. */
    if (statx(record->fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_SIZE, &st) != 0)
        return -errno;
    posix_fadvise(record->fd, 0, 0, POSIX_FADV_DONTNEED);
    return 0;
}

bool mpiio_record_is_in_time(const struct mpiio_record *record)
{
    int limit = record->timeout / 2 < HELD_MAX ? record->timeout / 2 : HELD_MAX;

    return mpiio_lease_clock() - record->since <= limit;
}

/* Heartbeats. */

int mpiio_record_beat(struct mpiio_record *record)
{
    uint64_t beats = htobe64(++record->beats);

    return mpiio_record_write(record, (const uint8_t *)&beats, sizeof(beats),
                              MPIIO_RECORD_BEATS_AT + 8 * (int64_t)record->node);
}

uint64_t mpiio_record_beats(struct mpiio_record *record, int node)
{
    uint64_t beats = 0;

    if (mpiio_record_renew(record) != 0 ||
        mpiio_record_pread(record, (uint8_t *)&beats, sizeof(beats),
                           MPIIO_RECORD_BEATS_AT + 8 * (int64_t)node) != sizeof(beats))
        return 0;
    return be64toh(beats);
}
