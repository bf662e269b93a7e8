/* SPDX-License-Identifier: MIT */
#include "lease.h"

#include <time.h>

int64_t mpiio_lease_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + 1;
}
