/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POINTERS_ASKING_H
#define MPIIO_POINTERS_ASKING_H

#include <pthread.h>
#include <stdbool.h>

#include "keeping.h"
#include "lines/lines.h"

/* What a node knows of the pointers, and its lines to the others, by which it learns more. */
struct mpiio_asking {
    struct mpiio_lines lines;
    pthread_mutex_t lock;
    pthread_cond_t wanted;             /* of the keeping, where it gets something to do */
    struct mpiio_keeping keeping;      /* lock: lock */
    unsigned asked[MPIIO_LINES_NODES]; /* requests of users that wait for a node; lock: lock */
};

/*
 * Asks another node, which may take timeout ms to answer. What it tells is known when this returns:
 * 0, or a negative errno where there was no answer. The lock is not held. Thread-safe.
 */
int mpiio_asking_ask(struct mpiio_asking *asking, int other,
                     const struct mpiio_pointers_request *request, int timeout,
                     struct mpiio_pointers_answer *answer);

/* As mpiio_keeping_answer, now. Lock held. */
void mpiio_asking_answer(struct mpiio_asking *asking, const struct mpiio_pointers_request *request,
                         struct mpiio_pointers_answer *answer);

/*
 * Whether another node has ended for sure, as its machine says. Lines that were made before fail
 * first: it is asked what is given for timeout ms, which it may answer, a few times. The lock is
 * not held.
 */
bool mpiio_asking_has_ended(struct mpiio_asking *asking, int other,
                            const struct mpiio_pointers_request *probe, int timeout);

/* Whether users wait for a node that is not but. Lock held. */
bool mpiio_asking_waits(const struct mpiio_asking *asking, int but);

#endif
