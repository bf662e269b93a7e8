/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POINTERS_H
#define MPIIO_POINTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/complain.h"
#include "record.h"

/*
 * Shared file pointers (MPI 3.1, 13.4.4), one for each view. A position counts etypes of the view
 * from 0, as MPI_File_get_position_shared does. A take grants the etypes from the pointer on, and
 * moves the pointer behind them. No other caller, on any node, is granted the same etypes.
 *
 * The pointers also hold the turns of "ordered" (state.h, ordered.h). A contribution is open from
 * mpiio_pointers_open until mpiio_pointers_over. The contributions of a node that has exited are
 * dropped. A contribution is also dropped if its node is silent at its turn for twice the timeout
 * of the node that waits.
 *
 * A single node keeps this state in memory, where programs may take etypes, too (grant.h).
 * Several nodes keep it in a record beside the shared file (record.h). Node 0 creates the record.
 * Once every node has exited cleanly, the last one removes it. If a node was killed, or could not
 * join, the record remains.
 *
 * Functions are thread-safe, and return a negative errno if they fail. On several nodes they may
 * wait for the record's lock. They fail with -EIO after waiting for the timeout.
 */
struct mpiio_pointers;

/* The maximal number of pointers. */
#define MPIIO_POINTERS_MAX 4096

struct mpiio_pointers_options {
    size_t count;         /* of pointers, at most MPIIO_POINTERS_MAX */
    const int64_t *start; /* the first position of each; borrowed for the call */
    /* On a single node: the memory of the positions, which programs may move, too (grant.h);
       borrowed. NULL: the pointers allocate it. */
    _Atomic int64_t *positions;
    int node, nodes; /* this node's number, and how many there are */
    int64_t ranks;   /* of each view that may contribute; 0: there is no "ordered" */
    int timeout;     /* ms: peer_timeout of this node; each node waits by its own */
    /* Called with true before a caller waits for other nodes, and with false afterwards. */
    void (*wait)(void *data, bool waits);
    void (*log)(void *data, enum mpiio_log_level level, const char *line);
    /* Reports that a turn has come; own: the contribution is this node's. Called by any thread of
     * the pointers, and from within their functions. Turns may be reported in any order. */
    void (*turn)(void *data, size_t view, uint64_t turn, bool own);
    /* Reports that this node has dropped the contribution share of another node at its turn.
     * exited: that node's process has exited; else it was silent. The etypes that it took last, up
     * to position, may be missing in the file. Called as turn is. NULL: not reported. */
    void (*dropped)(void *data, size_t view, uint64_t share, int node, bool exited,
                    int64_t position);
    void *data; /* for these functions */
};

struct mpiio_pointers_stats {
    uint64_t takes;  /* takes by these functions that were granted at least one etype */
    uint64_t etypes; /* granted by these takes */
};

/* Returns 0 or a negative errno. */
int mpiio_pointers_new(const struct mpiio_pointers_options *options,
                       struct mpiio_pointers **pointers);

/* Frees the pointers. The other nodes see that this node has exited. No other thread may use the
   pointers. NULL is allowed. */
void mpiio_pointers_free(struct mpiio_pointers *pointers);

/*
 * Sets the location of the record, and proves that this node can use it (record.h). Each of several
 * nodes calls this while it starts, node 0 before the others. Copies the fields of record that the
 * caller sets, except node, nodes and timeout. Returns 0 or a negative errno.
 */
int mpiio_pointers_meet(struct mpiio_pointers *pointers, const struct mpiio_record *record);

/* Starts the thread that uses the record. Called after any fork, and after mpiio_pointers_meet on
   all nodes. Returns 0 or a negative errno. */
int mpiio_pointers_start(struct mpiio_pointers *pointers);

/* Stands for no contribution, where a contribution's number is expected. */
#define MPIIO_POINTERS_ANYBODY UINT64_MAX

/*
 * Takes count > 0 etypes, fewer if limit is closer, and sets *position to the first of them. share
 * is the contribution that takes them at its turn, or MPIIO_POINTERS_ANYBODY. Returns the number of
 * etypes granted; 0 if the pointer is at or behind the limit; -ESTALE if it is not the
 * contribution's turn, because it was dropped; -ETIMEDOUT if another node did not release the
 * record's lock: nothing was taken, and the call may be repeated.
 */
int64_t mpiio_pointers_take(struct mpiio_pointers *pointers, size_t pointer, uint64_t share,
                            int64_t count, int64_t limit, int64_t *position);

/* Implement MPI_File_get_position_shared, and MPI_File_seek_shared with MPI_SEEK_SET. *turn: the
   number of the contribution whose turn it is. Return 0 or a negative errno. */
int mpiio_pointers_get(struct mpiio_pointers *pointers, size_t pointer, int64_t *position,
                       uint64_t *turn);
int mpiio_pointers_set(struct mpiio_pointers *pointers, size_t pointer, int64_t position);

/* Opens the next contribution of a rank, 0 <= rank < ranks, for this node, and sets *number.
   Returns 0 or a negative errno. */
int mpiio_pointers_open(struct mpiio_pointers *pointers, size_t view, int64_t rank,
                        uint64_t *number);

/* Finishes a contribution at its turn, and sets *turn to the contribution whose turn it is then.
   The call may be repeated. Returns 0 or a negative errno. */
int mpiio_pointers_over(struct mpiio_pointers *pointers, size_t view, uint64_t number,
                        uint64_t *turn);

/* Declares that this node opens no more contributions; all: that no node does. Missing ranks before
   its open contributions are then skipped. Does not wait. */
void mpiio_pointers_leave(struct mpiio_pointers *pointers, bool all);

/* After mpiio_pointers_leave with all: returns true once the contributions of all nodes have
   finished or were dropped. Does not wait. */
bool mpiio_pointers_are_over(const struct mpiio_pointers *pointers);

/* Returns the ms since this node last used the record without an error. It uses the record for each
   request, and regularly while it has open contributions; without either, the time grows. */
int64_t mpiio_pointers_quiet(struct mpiio_pointers *pointers);

void mpiio_pointers_get_stats(struct mpiio_pointers *pointers, struct mpiio_pointers_stats *stats);

#endif
