/* SPDX-License-Identifier: MIT */
#include "freshness.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fd_link.h"

static bool is_same(struct statx_timestamp one, struct statx_timestamp other)
{
    return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

static bool is_state(const struct mpiio_freshness *self, const struct statx *st)
{
    return self->size == (int64_t)st->stx_size && is_same(self->mtime, st->stx_mtime) &&
           is_same(self->ctime, st->stx_ctime);
}

/*
 * Returns true if the host's pages may be older than the state st, which was just sampled. Records
 * st if it is new. A second write within one tick of the server's clock leaves the same state. So
 * pages that were dropped while the state was recent may be stale, too.
 */
static bool may_be_stale(struct mpiio_freshness *self, const struct statx *st)
{
    int64_t now = mpiio_clock();
    bool stale;

    pthread_mutex_lock(&self->lock);
    if (self->seen == 0 || !is_state(self, st)) {
        self->size = (int64_t)st->stx_size;
        self->mtime = st->stx_mtime;
        self->ctime = st->stx_ctime;
        self->seen = now;
        self->stood = false;
    }
    stale = !self->stood;
    pthread_mutex_unlock(&self->lock);
    return stale;
}

/* Records that the pages were dropped after the state st was sampled at time now. */
static void record_drop(struct mpiio_freshness *self, const struct statx *st, int64_t now)
{
    pthread_mutex_lock(&self->lock);
    if (is_state(self, st) && now - self->seen > MPIIO_FRESHNESS_AGE &&
        (st->stx_mtime.tv_nsec != 0 || st->stx_ctime.tv_nsec != 0))
        self->stood = true;
    pthread_mutex_unlock(&self->lock);
}

/*
 * Opening the file makes clients with their own close-to-open, such as NFS, revalidate. Many FUSE
 * clients keep their pages across opens, so the pages are dropped explicitly. POSIX_FADV_DONTNEED
 * skips dirty pages, so these are written back first.
 */
int mpiio_freshness_renew(struct mpiio_freshness *freshness, int fd, enum mpiio_coherence coherence)
{
    int64_t now = mpiio_clock();
    struct statx st;
    int error = 0, again = mpiio_fd_reopen(fd, O_RDONLY);

    if (again < 0) /* no descriptors left, or the file's mode has changed */
        again = fd;
    if (statx(again, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &st) != 0)
        error = -errno;
    if (error == 0 && (may_be_stale(freshness, &st) || coherence == MPIIO_COHERENCE_NONE)) {
        sync_file_range(again, 0, 0,
                        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                            SYNC_FILE_RANGE_WAIT_AFTER);
        posix_fadvise(again, 0, 0, POSIX_FADV_DONTNEED);
        record_drop(freshness, &st, now);
    }
    if (again != fd)
        close(again);
    return error;
}
