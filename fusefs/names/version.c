/* SPDX-License-Identifier: MIT */
#include "version.h"

#define SECOND_NS 1000000000

/*
 * Returns the time for which the filesystem's clock may stand still, in ns, doubled for safety.
 * Usual ticks are up to 10 ms. A time without a fraction may come from a filesystem with coarse
 * times (FAT counts in steps of 2 s).
 */
static int64_t standstill(struct timespec time)
{
    return time.tv_nsec == 0 ? (int64_t)4 * SECOND_NS : SECOND_NS / 50;
}

static bool is_older(struct timespec time, struct timespec now)
{
    int64_t seconds = (int64_t)now.tv_sec - time.tv_sec;

    /* Avoid an overflow of the difference in ns. */
    if (seconds < -10 || seconds > 10)
        return seconds > 0;
    return seconds * SECOND_NS + now.tv_nsec - time.tv_nsec > standstill(time);
}

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

struct fs_version fs_version_of(const struct stat *st, struct timespec before)
{
    return (struct fs_version){.size = st->st_size,
                               .mtime = st->st_mtim,
                               .ctime = st->st_ctim,
                               .settled =
                                   is_older(st->st_mtim, before) && is_older(st->st_ctim, before)};
}

bool fs_version_same(const struct fs_version *a, const struct fs_version *b)
{
    return a->settled && b->settled && a->size == b->size && a->changes == b->changes &&
           same_time(a->mtime, b->mtime) && same_time(a->ctime, b->ctime);
}
