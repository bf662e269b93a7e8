/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_GIVEN_H
#define MPIIO_GIVEN_H

#include <stdbool.h>
#include <stdint.h>

#include "frame.h"
#include "lines/lines.h"

struct mpiio_given_answer;

/*
 * What nodes were given by the one that keeps the pointers, by the numbers of their requests: who
 * asks again, as the answer was lost with its connection, is answered the same again. No I/O; a
 * lock around it is the caller's. Zeros: nothing yet.
 */
struct mpiio_given {
    struct mpiio_given_answer *first[MPIIO_LINES_NODES]; /* by node */
};

void mpiio_given_free(struct mpiio_given *given);

/*
 * What this request was answered, or NULL. What the node has settled is forgotten. Borrowed until
 * the next call.
 */
const struct mpiio_pointers_answer *mpiio_given_find(struct mpiio_given *given,
                                                     const struct mpiio_pointers_request *request);

/* Has room for an answer, which mpiio_given_put then keeps without fail. 0 or -ENOMEM. */
int mpiio_given_reserve(struct mpiio_given *given, const struct mpiio_pointers_request *request);
void mpiio_given_put(struct mpiio_given *given, const struct mpiio_pointers_request *request,
                     const struct mpiio_pointers_answer *answer);

#endif
