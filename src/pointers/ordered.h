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
 * holds. All functions are thread-safe. Errors are negative errno values.
 */
struct mpiio_ordered;

/* What one rank reads and writes in one round. */
struct mpiio_share;

/* One who may have to wait: zeros before its first call. */
struct mpiio_ordered_waiter {
    bool ended; /* lock: inside */
};

struct mpiio_ordered_options {
    size_t views;         /* each has rounds of its own */
    int64_t ranks;        /* of each view */
    const int64_t *etype; /* by view: its size in bytes; borrowed for the call */
    int64_t memory;       /* bytes that may wait, of all views */
    /*
     * Puts length bytes, which are whole etypes, behind what a view's pointer has passed. 0 or a
     * negative errno. One call a view at a time; no lock is held. waiter: whose call it is; NULL:
     * the bytes have waited.
     */
    int (*place)(void *data, size_t view, const void *buffer, size_t length,
                 struct mpiio_ordered_waiter *waiter);
    /* Before somebody waits and after that, with the lock held. NULL: nobody is told. */
    void (*waits)(void *waits_data, bool waits);
    void *data, *waits_data;
};

struct mpiio_ordered_stats {
    int64_t waiting; /* bytes that wait for their turn */
    int64_t lost;    /* bytes that were to be placed and could not be, of those that had waited */
    uint64_t shares; /* that have had their turn */
    uint64_t waits;  /* how often a writer had to wait for room, or a reader for its turn */
};

/* 0 or -ENOMEM. */
int mpiio_ordered_new(const struct mpiio_ordered_options *options, struct mpiio_ordered **ordered);

/* After mpiio_ordered_finish. NULL is allowed. */
void mpiio_ordered_free(struct mpiio_ordered *ordered);

/* Opens the next share of a rank, 0 <= rank < ranks. 0 or -ENOMEM. */
int mpiio_ordered_open(struct mpiio_ordered *ordered, size_t view, int64_t rank,
                       struct mpiio_share **share);

/*
 * Ends a share, which is not to be used any more. Bytes that are missing of its last etype are
 * zeros. Places what waits for nothing else now: that may take a while.
 */
void mpiio_share_close(struct mpiio_share *share);

/*
 * Writes to the end of the share: at its turn to the pointer, else into memory, if there is room.
 * Returns length; -EINTR and -ENOTCONN as they say below; or the error of place.
 */
ssize_t mpiio_share_write(struct mpiio_share *share, const void *buffer, size_t length,
                          struct mpiio_ordered_waiter *waiter);

/*
 * Waits until it is the share's turn, and all that was written to it is placed: then who reads gets
 * what the pointer takes. 0, -EINTR, -ENOTCONN, or the first error of placing what had waited.
 */
int mpiio_share_await(struct mpiio_share *share, struct mpiio_ordered_waiter *waiter);

/* The first error of placing what had waited; 0: none so far. */
int mpiio_share_error(const struct mpiio_share *share);

/* The waiter's calls, now or later, return -EINTR where they would wait. */
void mpiio_ordered_interrupt(struct mpiio_ordered *ordered, struct mpiio_ordered_waiter *waiter);

/* Nobody waits any more: who would gets -ENOTCONN. */
void mpiio_ordered_stop(struct mpiio_ordered *ordered);

/*
 * Nobody uses a share any more: places those that still wait for their turn, as if the ranks before
 * them had written nothing.
 */
void mpiio_ordered_finish(struct mpiio_ordered *ordered);

/* The rank whose turn it is. */
int64_t mpiio_ordered_turn(struct mpiio_ordered *ordered, size_t view);

void mpiio_ordered_get_stats(struct mpiio_ordered *ordered, struct mpiio_ordered_stats *stats);

#endif
