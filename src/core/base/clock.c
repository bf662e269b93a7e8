/* SPDX-License-Identifier: MIT */
#include "clock.h"

#include <errno.h>
#include <time.h>

static int64_t read_us(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t mpiio_clock(void)
{
    return read_us(CLOCK_MONOTONIC) / 1000;
}

bool mpiio_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t end)
{
    const struct timespec when = {.tv_sec = end / 1000, .tv_nsec = end % 1000 * 1000000};

    return pthread_cond_clockwait(condition, lock, CLOCK_MONOTONIC, &when) != ETIMEDOUT;
}

int64_t mpiio_clock_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

bool mpiio_wait_until_us(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t end)
{
    const struct timespec when = {.tv_sec = end / 1000000, .tv_nsec = end % 1000000 * 1000};

    return pthread_cond_clockwait(condition, lock, CLOCK_MONOTONIC, &when) != ETIMEDOUT;
}

int64_t mpiio_lease_clock(void)
{
    return read_us(CLOCK_BOOTTIME) / 1000 + 1;
}
