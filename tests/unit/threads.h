/* SPDX-License-Identifier: MIT */
#ifndef THREADS_H
#define THREADS_H

/* Threads that work at the same time, each on its element of an array. */

#include <pthread.h>

#include "unit.h"

static inline void start_threads(pthread_t *threads, int count, void *(*work)(void *element),
                                 void *elements, size_t size)
{
    for (int i = 0; i < count; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, work, (char *)elements + (size_t)i * size), 0);
}

/* Waits for the threads. Each must return NULL, which means that it found nothing wrong. */
static inline void join_threads(const pthread_t *threads, int count)
{
    for (int i = 0; i < count; i++) {
        void *wrong = NULL;

        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
}

/* Starts threads and waits for them. There are at most 64. */
static inline void run_threads(int count, void *(*work)(void *element), void *elements, size_t size)
{
    pthread_t threads[64];

    assert_in_range(count, 1, 64);
    start_threads(threads, count, work, elements, size);
    join_threads(threads, count);
}

#endif
