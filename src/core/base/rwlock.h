/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_RWLOCK_H
#define MPIIO_RWLOCK_H

#include <pthread.h>

/*
 * Initialises a lock that prefers writers: a writer does not wait for readers that come after it,
 * so that a stream of readers cannot starve it. A thread must not take the lock for reading twice.
 */
void mpiio_rwlock_init(pthread_rwlock_t *lock);

#endif
