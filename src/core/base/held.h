/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_HELD_H
#define MPIIO_HELD_H

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

/*
 * For assertions, which builds of type release and plain leave out: a function that needs a lock
 * asserts that somebody holds it. POSIX does not tell whether the caller does. A lock that nobody
 * held is held after the call, which the assertion does not return from.
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
