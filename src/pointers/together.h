/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_TOGETHER_H
#define MPIIO_TOGETHER_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Takers of one node ask another one together. Up to MPIIO_TOGETHER_APART of them ask at a time;
 * who comes meanwhile waits for one of these to have its answer, and then one asks for all who wait
 * for the same pointer, and deals out what is got in the order in which they came.
 */
#define MPIIO_TOGETHER_APART 4

struct mpiio_taker;

struct mpiio_together {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned asking;                   /* requests under way; lock */
    struct mpiio_taker *first, **last; /* who wait; lock */
};

/* Asks for count > 0 etypes below limit, as mpiio_pointers_take does. */
typedef int64_t mpiio_together_ask(void *data, size_t pointer, int64_t count, int64_t limit,
                                   int64_t *position);

void mpiio_together_init(struct mpiio_together *together);

/* Nobody takes any more. */
void mpiio_together_free(struct mpiio_together *together);

/* As mpiio_pointers_take (pointers.h) of no share, by ask. Waits; thread-safe. */
int64_t mpiio_together_take(struct mpiio_together *together, mpiio_together_ask *ask, void *data,
                            size_t pointer, int64_t count, int64_t limit, int64_t *position);

#endif
