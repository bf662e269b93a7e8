/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_HELD_H
#define MPIIO_HELD_H

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

/*
 * Returns true if a thread holds the lock; POSIX cannot tell whether it is the caller. Only for
 * assertions, which only test builds have. If nobody held the lock, the call
 * takes it, and the assertion then aborts.
 */
static inline bool mpiio_is_held(const pthread_mutex_t *lock)
{
    return pthread_mutex_trylock((pthread_mutex_t *)lock) != 0;
}

/* Likewise: held shared or exclusively. */
static inline bool mpiio_is_held_any(const pthread_rwlock_t *lock)
{
    return pthread_rwlock_trywrlock((pthread_rwlock_t *)lock) != 0;
}

/* Likewise: held exclusively. */
static inline bool mpiio_is_held_alone(const pthread_rwlock_t *lock)
{
    return pthread_rwlock_tryrdlock((pthread_rwlock_t *)lock) != 0;
}

#endif
