/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_LOCKED_H
#define MPIIO_LOCKED_H

#include <pthread.h>

/* Evaluates an expression while it holds the mutex that lock points to. */
#define MPIIO_LOCKED(lock, expression)                                                             \
    __extension__({                                                                                \
        pthread_mutex_t *mpiio_lock = (lock);                                                      \
                                                                                                   \
        pthread_mutex_lock(mpiio_lock);                                                            \
        __typeof__(expression) mpiio_value = (expression);                                         \
        pthread_mutex_unlock(mpiio_lock);                                                          \
        mpiio_value;                                                                               \
    })

#endif
