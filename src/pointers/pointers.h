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
 * moves the pointer behind them: no other caller, on any node, gets the same.
 *
 * The pointers also hold the turns of "ordered" (turns.h, ordered.h). A contribution to it is open
 * from mpiio_pointers_open until mpiio_pointers_over. The contributions of a node that has exited
 * are dropped, as is one whose node is silent for twice the timeout when its turn has come.
 *
 * A single node keeps all of it in memory. Several nodes keep it in a record beside the shared file
 * (record.h), which node 0 creates and the last node to exit removes.
 *
 * Functions are thread-safe, and return a negative errno if they fail. On several nodes they may
 * wait for the record's lock, and fail with -EIO when they have waited for the timeout.
 */
struct mpiio_pointers;

/* The maximal number of pointers. */
#define MPIIO_POINTERS_MAX 4096

struct mpiio_pointers_options {
    size_t count;         /* of pointers, MPIIO_POINTERS_MAX at most */
    const int64_t *start; /* where each begins; borrowed for the call */
    int node, nodes;      /* this node's number, and how many there are */
    int64_t ranks;        /* of each view, which may contribute; 0: there is no "ordered" */
    int timeout;          /* ms: peer_timeout */
    /* Called with true before a caller waits for other nodes, and with false afterwards. */
    void (*wait)(void *data, bool waits);
    void (*log)(void *data, enum mpiio_log_level level, const char *line);
    /* A turn has come; own: the contribution is this node's. Called by any thread of the pointers,
     * and inside their functions; turns may be reported in any order. */
    void (*turn)(void *data, size_t view, uint64_t turn, bool own);
    /* This node has dropped the contribution share of another one at its turn. What that node took
     * last, up to position, may be missing in the file. Like turn. NULL: not reported. */
    void (*passed)(void *data, size_t view, uint64_t share, int node, int64_t position);
    void *data; /* for these functions */
};

struct mpiio_pointers_stats {
    uint64_t takes;  /* takes of this node that were granted something */
    uint64_t etypes; /* that they were granted */
};

/* Returns 0 or a negative errno. */
int mpiio_pointers_new(const struct mpiio_pointers_options *options,
                       struct mpiio_pointers **pointers);

/* For the other nodes, this node has exited. No other thread uses the pointers. NULL is allowed. */
void mpiio_pointers_free(struct mpiio_pointers *pointers);

/*
 * For several nodes, while they start: sets where the record is, and proves that all nodes can use
 * it (record.h). Node 0 calls this before the others. The fields of record that its caller sets are
 * copied, except node, nodes and timeout. Returns 0 or a negative errno.
 */
int mpiio_pointers_meet(struct mpiio_pointers *pointers, const struct mpiio_record *record);

/* Starts the thread that uses the record, after any fork, when all nodes have met. Returns 0 or a
   negative errno. */
int mpiio_pointers_start(struct mpiio_pointers *pointers);

/* In place of the number of a contribution: none. */
#define MPIIO_POINTERS_ANYBODY UINT64_MAX

/*
 * Takes count > 0 etypes from *position on, or fewer if limit is closer: for a contribution at its
 * turn, or for anybody. Returns how many were granted; 0 if the pointer is at the limit or behind
 * it; -ESTALE if the contribution was dropped.
 */
int64_t mpiio_pointers_take(struct mpiio_pointers *pointers, size_t pointer, uint64_t share,
                            int64_t count, int64_t limit, int64_t *position);

/* MPI_File_get_position_shared, and MPI_File_seek_shared with MPI_SEEK_SET. Return 0 or a negative
   errno. */
int mpiio_pointers_get(struct mpiio_pointers *pointers, size_t pointer, int64_t *position);
int mpiio_pointers_set(struct mpiio_pointers *pointers, size_t pointer, int64_t position);

/* Opens the next contribution of a rank, 0 <= rank < ranks, for this node: its number. Returns 0 or
   a negative errno. */
int mpiio_pointers_open(struct mpiio_pointers *pointers, size_t view, int64_t rank,
                        uint64_t *number);

/* Finishes a contribution at its turn; *turn is whose turn it is then. May be repeated. Returns 0
   or a negative errno. */
int mpiio_pointers_over(struct mpiio_pointers *pointers, size_t view, uint64_t number,
                        uint64_t *turn);

/* The contribution whose turn it is. Returns 0 or a negative errno. */
int mpiio_pointers_turn(struct mpiio_pointers *pointers, size_t view, uint64_t *turn);

/* This node opens no more contributions. Ranks that are missing before those that it has are
   skipped. Does not wait. */
void mpiio_pointers_leave(struct mpiio_pointers *pointers);

/* Returns for how many ms this node has not been able to read the record. */
int64_t mpiio_pointers_quiet(struct mpiio_pointers *pointers);

void mpiio_pointers_get_stats(struct mpiio_pointers *pointers, struct mpiio_pointers_stats *stats);

#endif
