/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_ORDERED_H
#define MPIIO_ORDERED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * What ranks read and write in their order (MPI 3.1, 13.4.4): the collective calls with a shared
 * file pointer, without a call that is collective. In a round each rank has one share of the file,
 * from its open to its close; shares follow each other by rank, and rounds follow each other. The
 * share whose turn it is goes to the pointer at once; what is written to a later one waits in
 * memory, and where there is no room, the writer waits. The next turn comes with the close.
 *
 * A rank that opens a second time before others have closed is in a later round, where the same
 * holds. The numbers of shares, and whose turn it is, are common to all nodes (pointers.h), which
 * place what was written to them. All functions are thread-safe. Errors are negative errno values.
 */
struct mpiio_ordered;

/* What one rank reads and writes in one round. */
struct mpiio_share;

/* One who may have to wait: zeros before its first call. */
struct mpiio_ordered_waiter {
    bool ended; /* lock: inside */
};

/* The turns. No lock is held; 0 or a negative errno. */
struct mpiio_ordered_turns {
    /* The next share of a rank is this node's: its number. */
    int (*open)(void *data, size_t view, int64_t rank, uint64_t *number);
    /* Its share with that number, at its turn, is over: *turn is the next one. Done again where it
     * fails. */
    int (*over)(void *data, size_t view, uint64_t number, uint64_t *turn);
    /* It opens none any more: ranks that are missing before those that it has do not come. */
    void (*leave)(void *data);
    void *data;
};

struct mpiio_ordered_options {
    size_t views;         /* each has rounds of its own */
    const int64_t *etype; /* by view: its size in bytes; borrowed for the call */
    int64_t memory;       /* bytes that may wait, of all views */
    struct mpiio_ordered_turns turns;
    /*
     * Puts length bytes, which are whole etypes, behind what a view's pointer has passed, at the
     * turn of the share with that number; MPIIO_ORDERED_NO_TURN: whosever it is. 0 or a negative
     * errno; -ESTALE: the share was passed over. One call a view at a time; no lock is held.
     * waiter: whose call it is; NULL: the bytes have waited.
     */
    int (*place)(void *data, size_t view, uint64_t share, const void *buffer, size_t length,
                 struct mpiio_ordered_waiter *waiter);
    /* Before somebody waits and after that, with the lock held. NULL: nobody is told. */
    void (*waits)(void *waits_data, bool waits);
    void *data, *waits_data;
};

#define MPIIO_ORDERED_NO_TURN UINT64_MAX

struct mpiio_ordered_stats {
    int64_t waiting; /* bytes that wait for their turn */
    int64_t lost;    /* bytes that were to be placed and could not be, of those that had waited */
    uint64_t shares; /* of this node, that have had their turn */
    uint64_t waits;  /* how often a writer had to wait for room, or a reader for its turn */
};

/* 0 or -ENOMEM. */
int mpiio_ordered_new(const struct mpiio_ordered_options *options, struct mpiio_ordered **ordered);

/*
 * From now on, keeps in *bytes, which is borrowed, how many bytes would be lost if the process were
 * killed: those that wait, and those that could not be placed. To be called before a share is
 * opened.
 */
void mpiio_ordered_show(struct mpiio_ordered *ordered, _Atomic int64_t *bytes);

/*
 * Turns that come from other nodes: starts the thread that places what has waited for them. 0 or a
 * negative errno. mpiio_ordered_finish ends it.
 */
int mpiio_ordered_start(struct mpiio_ordered *ordered);

/*
 * It is the turn of the share of that number, or a later one; own: that is this node's. What
 * was written to shares before it and is not placed is lost: they were passed over. Calls may come
 * in any order, also inside those of turns. Does not wait.
 */
void mpiio_ordered_turn(struct mpiio_ordered *ordered, size_t view, uint64_t turn, bool own);

/* After mpiio_ordered_finish; there are no turns any more. NULL is allowed. */
void mpiio_ordered_free(struct mpiio_ordered *ordered);

/* Opens the next share of a rank. 0, -ENOMEM or the error of turns. */
int mpiio_ordered_open(struct mpiio_ordered *ordered, size_t view, int64_t rank,
                       struct mpiio_share **share);

/*
 * Ends a share, which is not to be used any more. Bytes that are missing of its last etype are
 * zeros. Places what waits for nothing else now: that may take a while.
 */
void mpiio_share_close(struct mpiio_share *share);

/*
 * Writes to the end of the share: at its turn to the pointer, else into memory, if there is room.
 * Returns length; -EINTR and -ENOTCONN as they say below; -ESTALE: the share was passed over; or
 * the error of place.
 */
ssize_t mpiio_share_write(struct mpiio_share *share, const void *buffer, size_t length,
                          struct mpiio_ordered_waiter *waiter);

/*
 * Waits until it is the share's turn, and all that was written to it is placed: then who reads gets
 * what the pointer takes. 0, -EINTR, -ENOTCONN, -ESTALE, or the first error of placing what had
 * waited.
 */
int mpiio_share_await(struct mpiio_share *share, struct mpiio_ordered_waiter *waiter);

/* The number of the share. */
uint64_t mpiio_share_number(const struct mpiio_share *share);

/* The first error of placing what had waited; 0: none so far. */
int mpiio_share_error(const struct mpiio_share *share);

/* The waiter's calls, now or later, return -EINTR where they would wait. */
void mpiio_ordered_interrupt(struct mpiio_ordered *ordered, struct mpiio_ordered_waiter *waiter);

/* Nobody waits any more: who would gets -ENOTCONN. */
void mpiio_ordered_stop(struct mpiio_ordered *ordered);

/* Nobody uses a share any more: all are closed. What is due is placed. */
void mpiio_ordered_close(struct mpiio_ordered *ordered);

/*
 * The same, and no share is opened any more, on this node: places those that still wait, in order,
 * as if the ranks that are missing before them had written nothing. Others' shares that come before
 * are waited for as long as goes_on, which is asked again and again, says so (NULL: always); then
 * what is left is placed all the same. Returns how many bytes those were.
 */
int64_t mpiio_ordered_finish(struct mpiio_ordered *ordered, bool (*goes_on)(void *data),
                             void *data);

/* Returns a number that grows whenever a turn comes. */
uint64_t mpiio_ordered_progress(struct mpiio_ordered *ordered);

void mpiio_ordered_get_stats(struct mpiio_ordered *ordered, struct mpiio_ordered_stats *stats);

#endif
