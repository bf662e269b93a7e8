/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_PLACING_H
#define MPIIO_PLACING_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap.h"
#include "ordered.h"

/* Bytes that wait. */
struct mpiio_chunk {
    struct mpiio_chunk *next;
    size_t length, room;
    char bytes[];
};

/*
 * What was written to a share and is not placed yet: bytes that wait in memory, and a part of an
 * etype, which is to become whole. No locks: those are the user's.
 */
struct mpiio_share_bytes {
    size_t etype;
    struct mpiio_chunk *first, *last;
    char *part; /* owned */
    size_t part_length;
};

/* Puts whole etypes behind the pointer: 0 or a negative errno. */
struct mpiio_share_place {
    int (*place)(const struct mpiio_share_place *self, const void *buffer, size_t length);
};

/* Keeps bytes behind those that wait. 0 or -ENOMEM. */
int mpiio_share_bytes_keep(struct mpiio_share_bytes *bytes, const void *buffer, size_t length);

/* Takes the first chunk out, which is the caller's to free; NULL: none waits. */
struct mpiio_chunk *mpiio_share_bytes_next(struct mpiio_share_bytes *bytes);

/* Places whole etypes of what came before and of buffer, and keeps what is left. 0 or a negative
   errno. */
int mpiio_share_bytes_place(struct mpiio_share_bytes *bytes, const struct mpiio_share_place *place,
                            const char *buffer, size_t length);

/* It has come to its end: what is missing of its last etype is zeros. As above. */
int mpiio_share_bytes_end(struct mpiio_share_bytes *bytes, const struct mpiio_share_place *place);

/* Frees all. Returns how many bytes had waited. */
int64_t mpiio_share_bytes_drop(struct mpiio_share_bytes *bytes);

/*
 * What the shares of a node have is placed as their turns come. The lock of the ordered is held
 * before and after each of these functions.
 */

/* The lock of all fields that change is that of the ordered. */
struct mpiio_share {
    struct mpiio_ordered *ordered;
    size_t view;
    uint64_t number;
    struct mpiio_share_bytes bytes; /* but for what waits: who places has them */
    bool closed;
    bool placing; /* a thread is placing something of it, without the lock */
    bool passed;  /* over; it is not among those of its view any more */
    int error;    /* the first one of placing what had waited */
};

/* lock: the ordered's */
struct mpiio_ordered_view {
    size_t etype;
    uint64_t turn;            /* the share's that is to be placed */
    struct mpiio_heap shares; /* those that are not over */
    unsigned opening;         /* shares of which the number is being asked for */
    bool stray;               /* it may be the turn of a share that nobody here knows */
    bool ending, asking;      /* that of number ended is over, and this is being told */
    uint64_t ended;
};

struct mpiio_ordered {
    struct mpiio_ordered_options options;
    struct mpiio_ordered_view *views;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stopped;                     /* lock: lock */
    bool unordered;                   /* what waits is placed whosever turn it is; lock: lock */
    int64_t out_of_turn;              /* bytes that were placed so; lock: lock */
    struct mpiio_ordered_stats stats; /* lock: lock */

    _Atomic int64_t *shown; /* mpiio_ordered_show; NULL: none */

    pthread_cond_t news; /* for the thread that places */
    bool has_news, over; /* lock: lock */
    bool started;
    pthread_t thread;
};

/* Shows the number of bytes that wait or are lost, after it has changed (mpiio_ordered_show). */
void mpiio_placing_show(struct mpiio_ordered *ordered);

/* A call of place, with what it needs. */
struct mpiio_placing {
    struct mpiio_share_place place; /* the first member */
    const struct mpiio_share *share;
    uint64_t turn;
    struct mpiio_ordered_waiter *waiter;
};

/* The share of a view that may be placed now, or NULL. */
struct mpiio_share *mpiio_placing_due(const struct mpiio_ordered *ordered,
                                      const struct mpiio_ordered_view *view);

/* A thread begins to place something of a share, without the lock: with that it calls placing.h.
   And it has: the share may be gone then. */
struct mpiio_placing mpiio_placing_begin(struct mpiio_share *share,
                                         struct mpiio_ordered_waiter *waiter);
void mpiio_placing_end(struct mpiio_share *share);

/* Passed over or over: frees a share once nobody uses it any more. */
void mpiio_placing_let_go(struct mpiio_share *share);

/* The turn has come to a share. Those before it that are left are passed over. */
void mpiio_placing_set_turn(struct mpiio_ordered *ordered, struct mpiio_ordered_view *view,
                            uint64_t turn);

/* The first share of a view, which has had no turn in time, is passed over. */
void mpiio_placing_pass_over(struct mpiio_ordered *ordered, struct mpiio_ordered_view *view);

/* Places what waits for nothing any more, share after share: of one view, or of all. The lock is
   not held all the time. */
void mpiio_placing_advance(struct mpiio_ordered *ordered, struct mpiio_ordered_view *view);
void mpiio_placing_advance_all(struct mpiio_ordered *ordered);

#endif
