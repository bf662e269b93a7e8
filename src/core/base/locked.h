/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_LOCKED_H
#define MPIIO_LOCKED_H

#include <pthread.h>

/* The value of an expression, evaluated while the mutex that lock points to is held. */
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
