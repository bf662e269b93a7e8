/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_PLACING_H
#define MPIIO_PLACING_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap.h"
#include "ordered.h"

/* Bytes that wait for their turn. */
struct mpiio_chunk {
    struct mpiio_chunk *next;
    size_t length, room;
    char bytes[];
};

/*
 * The bytes of a contribution that are not placed yet: chunks that wait in memory, and the
 * beginning of an etype that is not complete. The caller does the locking.
 */
struct mpiio_share_bytes {
    size_t etype;
    struct mpiio_chunk *first, *last;
    char *part; /* owned */
    size_t part_length;
};

/*
 * Placing the contributions of this node as their turns come. These functions are called with the
 * lock of struct mpiio_ordered held, and return with it held.
 */

/* A contribution. The lock of struct mpiio_ordered guards all fields that change. */
struct mpiio_share {
    struct mpiio_ordered *ordered;
    size_t view;
    uint64_t number;
    struct mpiio_share_bytes bytes; /* a thread that sets placing owns all but the chunks */
    bool closed;
    bool placing;    /* a thread is placing bytes of it, without the lock */
    bool passed;     /* finished or dropped; no longer in the heap of its view */
    bool delayed;    /* only mpiio_placing_advance_all places more of the bytes that have waited */
    uint64_t delays; /* how often placing these had the result MPIIO_ORDERED_LATER */
    int error;       /* the first error of placing bytes that had waited; -ESTALE: dropped */
};

/* The lock of struct mpiio_ordered guards it. */
struct mpiio_ordered_view {
    size_t etype;
    uint64_t turn;            /* the number of the contribution whose turn it is */
    struct mpiio_heap shares; /* this node's contributions that are neither finished nor dropped */
    unsigned opening;         /* the number of calls of open that have not returned */
    bool stray;          /* the turn may be that of this node's contribution whose open failed */
    bool ending, asking; /* contribution ended must be reported as finished; is being reported */
    uint64_t ended;
};

struct mpiio_ordered {
    struct mpiio_ordered_options options;
    struct mpiio_ordered_view *views;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stopped;                     /* lock: lock */
    bool unordered;                   /* bytes are placed before their turn; lock: lock */
    bool leaving;                     /* after mpiio_ordered_close; lock: lock */
    bool stored;                      /* options.store has been called; lock: lock */
    int64_t out_of_turn;              /* bytes placed before their turn; lock: lock */
    struct mpiio_ordered_stats stats; /* lock: lock */

    _Atomic int64_t *shown; /* mpiio_ordered_show; NULL: none */

    pthread_cond_t news; /* for the thread that places */
    bool has_news, over; /* lock: lock */
    bool started;
    pthread_t thread;
};

/* Updates the count of mpiio_ordered_show. Called after stats.waiting or stats.lost has changed. */
void mpiio_placing_show(struct mpiio_ordered *ordered);

/* The context of a call of place. */
struct mpiio_placing {
    const struct mpiio_share *share;
    uint64_t turn;
    struct mpiio_ordered_waiter *waiter;
};

/* Appends a copy of bytes to those that wait. Returns 0 or -ENOMEM. */
int mpiio_share_bytes_keep(struct mpiio_share_bytes *bytes, const void *buffer, size_t length);

/* Places the whole etypes of the incomplete etype and buffer together, and keeps the rest as the
   incomplete etype. Returns 0 or the result of place. Sets *used to the number of bytes of buffer
   that are placed or kept; after an error the others are to be placed again, or are lost. */
int mpiio_share_bytes_place(struct mpiio_share_bytes *bytes, const struct mpiio_placing *placing,
                            const char *buffer, size_t length, size_t *used);

/* Returns the contribution of a view that may be placed now, or NULL. */
struct mpiio_share *mpiio_placing_due(const struct mpiio_ordered *ordered,
                                      const struct mpiio_ordered_view *view);

/* Begin and end the time for which the calling thread places bytes of a contribution. In between
   the thread releases the lock, and passes the returned context to mpiio_share_bytes_place.
   After mpiio_placing_end, the contribution may have been freed. */
struct mpiio_placing mpiio_placing_begin(struct mpiio_share *share,
                                         struct mpiio_ordered_waiter *waiter);
void mpiio_placing_end(struct mpiio_share *share);

/* Frees a contribution that is finished or dropped, once it is closed and no thread places it. */
void mpiio_placing_release(struct mpiio_share *share);

/* Advances the turn of a view. This node's contributions with lower numbers are dropped. */
void mpiio_placing_set_turn(struct mpiio_ordered *ordered, struct mpiio_ordered_view *view,
                            uint64_t turn);

/* Drops the first contribution of a view, whose turn has passed. Its waiting bytes are lost. */
void mpiio_placing_pass_over(struct mpiio_ordered *ordered, struct mpiio_ordered_view *view);

/* Place the bytes whose turn has come, contribution by contribution, in one view or in all. They
   release the lock at times. After MPIIO_ORDERED_LATER the second one tries again. */
void mpiio_placing_advance(struct mpiio_ordered *ordered, struct mpiio_ordered_view *view);
void mpiio_placing_advance_all(struct mpiio_ordered *ordered);

#endif
