/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_THREAD_H
#define MPIIO_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/*
 * Starts a thread that leaves signals to the others, as pthread_create does otherwise, but takes
 * the faults that it causes itself: what it does to a mapped file may raise SIGBUS, which guard.h
 * needs, and a blocked one would end the process. It may run where the thread that starts it might
 * before mpiio_thread_bind. When this returns, the thread has memory of its own to allocate little
 * things from, also when the process gets none any more. 0 or a negative errno. Local, thread-safe.
 */
int mpiio_thread_start(pthread_t *thread, void *(*work)(void *argument), void *argument);

/* Keeps this thread on a processor, 0 to 1023: false where it may not run there. Once a thread. */
bool mpiio_thread_bind(unsigned processor);

#endif
