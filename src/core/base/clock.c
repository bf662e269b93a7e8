/* SPDX-License-Identifier: MIT */
#include "clock.h"

#include <errno.h>
#include <time.h>

int64_t mpiio_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool mpiio_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t end)
{
    const struct timespec when = {.tv_sec = end / 1000, .tv_nsec = end % 1000 * 1000000};

    return pthread_cond_clockwait(condition, lock, CLOCK_MONOTONIC, &when) != ETIMEDOUT;
}

int64_t mpiio_clock_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

bool mpiio_wait_until_us(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t end)
{
    const struct timespec when = {.tv_sec = end / 1000000, .tv_nsec = end % 1000000 * 1000};

    return pthread_cond_clockwait(condition, lock, CLOCK_MONOTONIC, &when) != ETIMEDOUT;
}

int64_t mpiio_lease_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + 1;
}
