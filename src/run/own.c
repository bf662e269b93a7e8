/* SPDX-License-Identifier: MIT */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include "own.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "next.h"

#define TABLE 65536 /* descriptors that are looked at */
#define OWN   64    /* own ones, at the end of those that the process may have */
#define FIRST 256   /* the least number of one */

static _Atomic unsigned char own[TABLE];

int run_raise(int fd)
{
    struct rlimit limit = {0};
    int error = errno;
    int high = -1;

    if (fd < 0)
        return -1;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > TABLE)
        limit.rlim_cur = TABLE;
    if (limit.rlim_cur > FIRST + OWN)
        high = RUN_NEXT(fcntl)(fd, F_DUPFD_CLOEXEC, (int)limit.rlim_cur - OWN);
    RUN_NEXT(close)(fd);
    if (high >= 0)
        atomic_store(&own[high], 1);
    errno = error;
    return high;
}

void run_lower(int fd)
{
    if ((unsigned)fd < TABLE)
        atomic_store(&own[fd], 0);
}

void run_lower_all(void)
{
    for (int fd = FIRST; fd < TABLE; fd++)
        atomic_store_explicit(&own[fd], 0, memory_order_relaxed);
}

bool run_is_own(int fd)
{
    return (unsigned)fd < TABLE && atomic_load_explicit(&own[fd], memory_order_relaxed) != 0;
}
