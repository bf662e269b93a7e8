/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_HERALD_H
#define MPIIO_HERALD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "searching.h"

/* Of a view. */
struct mpiio_herald_view {
    uint64_t announced; /* the turn that this process was told of */
    uint32_t next;      /* who is to be told that its turn has come; MPIIO_POINTERS_NO_NODE */
    bool doubts;        /* a share may have been opened for this node that it does not know */
};

/*
 * Has turns heard of. As long as this node has shares, a thread asks again and again who has the
 * turn: so who keeps the pointers sees that the node lives; it looks whether who has the turn
 * lives, too, and says so where it has ended. And who ends a share tells the node that is next.
 */
struct mpiio_herald {
    struct mpiio_searching *searching; /* borrowed, as its asking */
    int interval;                      /* ms between two questions */
    /* This process' user is told of a turn: own: its share is said to be this node's. No lock is
     * held; turns may come in any order. NULL: nobody is. */
    void (*turn)(void *data, size_t view, uint64_t turn, bool own);
    /* And of a share that this node has passed over at its turn. The same holds. */
    void (*passed)(void *data, size_t view, uint64_t share, int node, int64_t position);
    void *data;

    pthread_t thread;
    bool started;
    /* With the asking's lock: */
    pthread_cond_t stir; /* there is something to do */
    bool over, stirred;  /* and what: the thread is to end; a node is to be told */
    bool looks;          /* all turns are to be asked for now */
    bool leaving;        /* this node opens no share any more */
    bool doubts;         /* of some view */
    uint64_t seen;       /* changes of turns that were announced */
    struct mpiio_herald_view *view;

    _Atomic int64_t answered; /* when who keeps the pointers has answered last */
};

/* The searching, interval, turn, passed and data are set. 0 or -ENOMEM. */
int mpiio_herald_init(struct mpiio_herald *herald);
void mpiio_herald_free(struct mpiio_herald *herald);

/* Starts and ends its thread; a single node needs none. The searching is over before the end. */
int mpiio_herald_start(struct mpiio_herald *herald);
void mpiio_herald_end(struct mpiio_herald *herald);

/* The rest is thread-safe; the lock is not held. */

/* Announces what has become known here. */
void mpiio_herald_announce(struct mpiio_herald *herald);

/* This node has opened a share; or has tried to, and does not know what came of it. */
void mpiio_herald_opened(struct mpiio_herald *herald, size_t view, bool doubts);

/* A share is over, which was answered so: tells who is next. */
void mpiio_herald_over(struct mpiio_herald *herald, size_t view,
                       const struct mpiio_pointers_answer *answer);

/* This node opens no share any more. */
void mpiio_herald_leave(struct mpiio_herald *herald);

/*
 * Asks whose turn it is in a view; or with MPIIO_POINTERS_DONE, who has something to place. Where
 * that node has ended, this is known then, and it is asked again. As mpiio_searching_resolve.
 */
int mpiio_herald_ask(struct mpiio_herald *herald, enum mpiio_pointers_type type, size_t view,
                     struct mpiio_pointers_answer *answer);

#endif
