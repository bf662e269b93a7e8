/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_ORDERED_H
#define MPIIO_ORDERED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Reads and writes in the order of ranks, as by MPI_File_read_ordered and MPI_File_write_ordered
 * (MPI 3.1, 13.4.4), but without a collective call. In each round a rank has one contribution
 * ("share"), from its open to its close. Contributions follow each other by rank, and rounds follow
 * each other. Writes to the contribution whose turn it is go to the pointer at once. Writes to a
 * later one wait in memory; if there is no room, the writer waits. The close starts the next turn.
 *
 * A rank that opens again before the others have closed is in a later round. All nodes have the
 * same numbers of contributions and the same turns (pointers.h). Each node places what was written
 * to its own contributions. All functions are thread-safe. Errors are negative errno values.
 */
struct mpiio_ordered;

/* A contribution: what one rank reads or writes in one round. */
struct mpiio_share;

/* A caller that may have to wait. Zeros before its first call. */
struct mpiio_ordered_waiter {
    bool ended; /* lock: inside */
};

/* Access to the turns that all nodes share. The functions are called without a lock. They return 0
   or a negative errno. */
struct mpiio_ordered_turns {
    /* Opens a rank's next contribution on this node, and sets *number. */
    int (*open)(void *data, size_t view, int64_t rank, uint64_t *number);
    /* Finishes this node's contribution with that number at its turn, and sets *turn to the next
     * turn. Repeated if it fails. */
    int (*over)(void *data, size_t view, uint64_t number, uint64_t *turn);
    /* Declares that this node opens no more contributions. Missing ranks before its open ones are
     * skipped. */
    void (*leave)(void *data);
    /* Called after leave. Returns false while contributions of other nodes are to be waited for. */
    bool (*all_over)(void *data);
    void *data;
};

struct mpiio_ordered_options {
    size_t views;         /* each has rounds of its own */
    const int64_t *etype; /* by view: the size of its etype in bytes; borrowed for the call */
    int64_t memory;       /* bytes that may wait, in all views together */
    struct mpiio_ordered_turns turns;
    /*
     * Writes length bytes, which are whole etypes, at a view's pointer, and advances it. share is
     * the number of the contribution whose turn it must be; MPIIO_POINTERS_ANYBODY (pointers.h):
     * any. Returns 0 or a negative errno; -ESTALE: the contribution was dropped;
     * MPIIO_ORDERED_LATER. Called without a lock, by one thread a view at a time. waiter: the
     * caller that writes the bytes now; NULL: the bytes have waited in memory.
     */
    int (*place)(void *data, size_t view, uint64_t share, const void *buffer, size_t length,
                 struct mpiio_ordered_waiter *waiter);
    /* Stores what was placed. Called at the end, without a lock, before this node's last
     * contribution is reported as finished. */
    void (*store)(void *data);
    /* Called before and after a caller waits, with the lock held. NULL: not reported. */
    void (*waits)(void *waits_data, bool waits);
    void *data, *waits_data;
};

/* The result of place if the pointer cannot be advanced for now. Nothing was placed. Bytes that
   have waited are kept and placed later, but not by mpiio_ordered_finish once it waits no longer.
 */
#define MPIIO_ORDERED_LATER 1

struct mpiio_ordered_stats {
    int64_t waiting; /* bytes that wait for their turn */
    int64_t lost;    /* bytes that had waited and could not be placed */
    uint64_t shares; /* contributions of this node that have had their turn */
    uint64_t waits;  /* how often a writer had to wait for room, or a reader for its turn */
};

/* Returns 0 or -ENOMEM. */
int mpiio_ordered_new(const struct mpiio_ordered_options *options, struct mpiio_ordered **ordered);

/*
 * From now on, keeps in *bytes, which is borrowed, the number of bytes that wait or could not be
 * placed: they are lost if the process is killed. Must be called before a contribution is opened.
 */
void mpiio_ordered_show(struct mpiio_ordered *ordered, _Atomic int64_t *bytes);

/*
 * Starts the thread that places waiting bytes when other nodes' contributions finish. Returns 0 or
 * a negative errno. mpiio_ordered_finish ends the thread.
 */
int mpiio_ordered_start(struct mpiio_ordered *ordered);

/*
 * Reports that the turn of the contribution with that number has come, and perhaps passed. own: the
 * contribution is this node's. This node's contributions with lower numbers were dropped; bytes
 * that wait in them are lost. Calls may come in any order, and from within those of turns. Does not
 * wait.
 */
void mpiio_ordered_turn(struct mpiio_ordered *ordered, size_t view, uint64_t turn, bool own);

/* Frees everything. Called after mpiio_ordered_finish, when no more turns are reported. NULL is
   allowed. */
void mpiio_ordered_free(struct mpiio_ordered *ordered);

/* Opens a rank's next contribution. Returns 0, -ENOMEM or the error of turns. */
int mpiio_ordered_open(struct mpiio_ordered *ordered, size_t view, int64_t rank,
                       struct mpiio_share **share);

/*
 * Closes a contribution. The caller must not use it afterwards. Zeros complete its last etype.
 * Places the bytes whose turn has come, which may take a while.
 */
void mpiio_share_close(struct mpiio_share *share);

/*
 * Appends to a contribution: at its turn, writes at the pointer; else keeps the bytes in memory. If
 * there is no room, waits. Returns length; -EINTR after mpiio_ordered_interrupt; -ENOTCONN after
 * mpiio_ordered_stop; -ESTALE if the contribution was dropped; or the error of place, where -EIO
 * stands for MPIIO_ORDERED_LATER.
 */
ssize_t mpiio_share_write(struct mpiio_share *share, const void *buffer, size_t length,
                          struct mpiio_ordered_waiter *waiter);

/*
 * Waits until it is the contribution's turn, and everything written to it is placed. A reader may
 * then take from the pointer. Returns 0, -EINTR, -ENOTCONN or -ESTALE as above, the first error of
 * placing bytes that had waited, or -EIO if they are to be placed later: MPIIO_ORDERED_LATER.
 */
int mpiio_share_await(struct mpiio_share *share, struct mpiio_ordered_waiter *waiter);

/* Returns the number of the contribution. */
uint64_t mpiio_share_number(const struct mpiio_share *share);

/* Returns the first error of placing bytes that had waited, or 0. */
int mpiio_share_error(const struct mpiio_share *share);

/* Makes the waiter's current and later calls return -EINTR instead of waiting. */
void mpiio_ordered_interrupt(struct mpiio_ordered *ordered, struct mpiio_ordered_waiter *waiter);

/* Ends all waiting: current and later calls return -ENOTCONN instead. */
void mpiio_ordered_stop(struct mpiio_ordered *ordered);

/* Closes all contributions, and places the bytes whose turn has come. No caller may use a
   contribution afterwards, or open one. From now on, what was placed is stored before the last
   contribution finishes, because other nodes may be waiting for that. */
void mpiio_ordered_close(struct mpiio_ordered *ordered);

/*
 * Closes all contributions, and places them in order, without the missing ranks before them. No
 * contribution may be opened afterwards on this node. Waits for other nodes' contributions: those
 * that come before, and then the others, too, until all_over. They are stored by then. Waits as
 * long as goes_on, which is called repeatedly, returns true (NULL: always). Then places the rest
 * before its turn. Returns the number of bytes placed before their turn.
 */
int64_t mpiio_ordered_finish(struct mpiio_ordered *ordered, bool (*goes_on)(void *data),
                             void *data);

/* Returns a number that grows whenever a turn comes. */
uint64_t mpiio_ordered_progress(struct mpiio_ordered *ordered);

void mpiio_ordered_get_stats(struct mpiio_ordered *ordered, struct mpiio_ordered_stats *stats);

#endif
