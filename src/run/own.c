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
#define FEW   64    /* own ones, at the end of those that the process may have */
#define MANY  256   /* where these are so many */
#define FIRST 256   /* the least number of one */

static _Atomic unsigned char own[TABLE];

/* How many descriptors the process may have that are looked at. */
static int allowed(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    return limit.rlim_cur < TABLE ? (int)limit.rlim_cur : TABLE;
}

static int most(int count)
{
    if (count <= FIRST + FEW)
        return 0;
    return count / 4 < FEW ? FEW : count / 4 < MANY ? count / 4 : MANY;
}

int run_own_most(void)
{
    return most(allowed());
}

int run_raise(int fd)
{
    int error = errno;
    int count = allowed(), high = -1;

    if (fd < 0)
        return -1;
    if (most(count) > 0)
        high = RUN_NEXT(fcntl)(fd, F_DUPFD_CLOEXEC, count - most(count));
    RUN_NEXT(close)(fd);
    if (high >= 0)
        atomic_store(&own[high], 1);
    errno = high >= 0 ? error : EMFILE;
    return high;
}

void run_lower(int fd)
{
    if ((unsigned)fd < TABLE)
        atomic_store(&own[fd], 0);
}

int run_next_own(unsigned first)
{
    for (unsigned fd = first < FIRST ? FIRST : first; fd < TABLE; fd++)
        if (run_is_own((int)fd))
            return (int)fd;
    return -1;
}

bool run_is_own(int fd)
{
    return (unsigned)fd < TABLE && atomic_load_explicit(&own[fd], memory_order_relaxed) != 0;
}
