/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_SEARCHING_H
#define MPIIO_SEARCHING_H

#include <stdatomic.h>

#include "asking.h"
#include "deputy.h"

/* A request of one that keeps the pointers, and its answer, which is granted or stale. */
struct mpiio_search {
    struct mpiio_pointers_request request;
    struct mpiio_pointers_answer answer;

    /* The search's own. */
    int target; /* whom it is to be asked */
    int silent; /* did not answer; -1: nobody */
    int pause;
    int64_t until;
    struct mpiio_search *before, *next; /* lock: the asking's */
};

/* How a node finds who keeps the pointers, wherever that is. */
struct mpiio_searching {
    struct mpiio_asking *asking; /* borrowed */
    struct mpiio_deputy deputy;
    int timeout;                       /* ms for which another node may not answer */
    atomic_bool over;                  /* nobody is asked any more */
    uint64_t number;                   /* of the last request; lock: the asking's */
    struct mpiio_search *first, *last; /* not answered yet, by number; lock: the asking's */
};

void mpiio_searching_init(struct mpiio_searching *searching, struct mpiio_asking *asking,
                          int timeout);

/* A request of this node; the caller sets what else it has. */
struct mpiio_search mpiio_search_of(const struct mpiio_searching *searching,
                                    enum mpiio_pointers_type type, size_t pointer);

/*
 * Asks until there is an answer: 0; -ESTALE: the share has been passed over; -EIO: who keeps the
 * pointers was not found for several times the timeout; -ENOTCONN: it is over. Thread-safe.
 */
int mpiio_searching_resolve(struct mpiio_searching *searching, struct mpiio_search *search);

#endif
