/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_CLOCK_H
#define MPIIO_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns ms of a monotonic clock that stops while the machine sleeps. */
int64_t mpiio_clock(void);

/* Waits for condition, with lock held, until mpiio_clock reaches end. Returns false if it has. */
bool mpiio_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t end);

#endif
