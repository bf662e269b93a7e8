/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_THREAD_H
#define MPIIO_THREAD_H

#include <pthread.h>

/*
 * Starts a thread that leaves signals to the others, as pthread_create does otherwise, but takes
 * the faults that it causes itself: what it does to a mapped file may raise SIGBUS, which guard.h
 * needs, and a blocked one would end the process. 0 or a negative errno. Local, thread-safe.
 */
int mpiio_thread_start(pthread_t *thread, void *(*work)(void *argument), void *argument);

#endif
