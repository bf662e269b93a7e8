/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_THREAD_H
#define MPIIO_THREAD_H

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

/*
 * Starts a thread that blocks all signals except synchronous faults. An access to a mapped file may
 * raise SIGBUS, which guard.h handles; if SIGBUS were blocked, it would end the process. When this
 * function returns, the thread has its own memory for small allocations, even if the process gets
 * no more memory. Returns 0 or a negative errno. Local, thread-safe.
 */
int mpiio_thread_start(pthread_t *thread, void *(*work)(void *argument), void *argument);

/*
 * Initializes a lock that prefers writers: a writer does not wait for readers that come after it,
 * so a stream of readers cannot starve it. A thread must not take the lock for reading twice.
 */
void mpiio_rwlock_init(pthread_rwlock_t *lock);

/* Evaluates an expression while holding the mutex that lock points to. */
#define MPIIO_LOCKED(lock, expression)                                                             \
    __extension__({                                                                                \
        pthread_mutex_t *mpiio_lock = (lock);                                                      \
                                                                                                   \
        pthread_mutex_lock(mpiio_lock);                                                            \
        __typeof__(expression) mpiio_value = (expression);                                         \
        pthread_mutex_unlock(mpiio_lock);                                                          \
        mpiio_value;                                                                               \
    })

/*
 * Returns true if some thread holds the lock. POSIX cannot tell whether the caller does. Only for
 * assertions, which only test builds have: if no thread holds the lock, the call acquires it, and
 * the assertion then aborts.
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
