/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_RWLOCK_H
#define MPIIO_RWLOCK_H

#include <pthread.h>

/*
 * Initialises a lock that prefers writers: a writer does not wait for readers that come after it,
 * so that a stream of readers cannot starve it. A thread must not take the lock for reading twice.
 * Returns 0 or a negative errno.
 */
int mpiio_rwlock_init(pthread_rwlock_t *lock);

#endif
