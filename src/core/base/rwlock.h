/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_RWLOCK_H
#define MPIIO_RWLOCK_H

#include <pthread.h>

/*
 * Initialises a lock at which a writer does not wait for readers that come after it: else it would
 * starve where they never stop to come. A thread that has it for reading must not take it again. 0
 * or a negative errno.
 */
int mpiio_rwlock_init(pthread_rwlock_t *lock);

#endif
