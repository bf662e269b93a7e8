/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_GIVEN_H
#define MPIIO_GIVEN_H

#include <stddef.h>
#include <stdint.h>

#include "frame.h"
#include "lines/lines.h"

struct mpiio_given_answer {
    struct mpiio_given_answer *next;
    struct mpiio_pointers_given given;
};

/*
 * What nodes were given by the one that keeps the pointers, by the numbers of their requests: who
 * asks again, as the answer was lost with its connection, is answered the same again, also by the
 * next one that keeps them. No I/O; a lock around it is the caller's. Zeros: nothing yet.
 */
struct mpiio_given {
    struct mpiio_given_answer *first[MPIIO_LINES_NODES]; /* by node */
    size_t count;
};

void mpiio_given_free(struct mpiio_given *given);

/*
 * What this request was answered, or NULL. What the node has settled is forgotten. Borrowed until
 * the next call.
 */
const struct mpiio_pointers_answer *mpiio_given_find(struct mpiio_given *given,
                                                     const struct mpiio_pointers_request *request);

/* Has room for an answer, which mpiio_given_put then keeps without fail, or mpiio_given_drop gives
   back. 0 or -ENOMEM. */
int mpiio_given_reserve(struct mpiio_given *given, const struct mpiio_pointers_request *request);
void mpiio_given_put(struct mpiio_given *given, const struct mpiio_pointers_request *request,
                     const struct mpiio_pointers_answer *answer);

void mpiio_given_drop(struct mpiio_given *given, const struct mpiio_pointers_request *request);

/* Keeps what another node has given, unless something is known that was given later. 0 or -ENOMEM.
 */
int mpiio_given_learn(struct mpiio_given *given, const struct mpiio_pointers_given *other);

/* Forgets what was given before a term; and has the rest be given in term now, but where it is 0.
 */
void mpiio_given_since(struct mpiio_given *given, uint64_t term, uint64_t now);

#endif
