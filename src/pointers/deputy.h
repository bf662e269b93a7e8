/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_DEPUTY_H
#define MPIIO_DEPUTY_H

#include <stdatomic.h>

#include "asking.h"

/*
 * Who keeps the pointers and gives to its own processes tells another node before they have it: so
 * it is known should this node be lost.
 */
struct mpiio_deputy {
    atomic_int node;       /* who is told */
    _Atomic int64_t alone; /* until then nobody is told: there is none */
};

/* This node is told first: the next one, then. */
void mpiio_deputy_init(struct mpiio_deputy *deputy, int own);

/*
 * Tells what a request of this node's was answered by itself. 0: another one knows, or none answers
 * and this node is enough by itself; else a negative errno. Thread-safe.
 */
int mpiio_deputy_tell(struct mpiio_deputy *deputy, struct mpiio_asking *asking,
                      const struct mpiio_pointers_request *request,
                      const struct mpiio_pointers_answer *given);

#endif
