/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POINTERS_H
#define MPIIO_POINTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/local_address.h"
#include "core/base/complain.h"
#include "lines/lines.h"

/*
 * Shared file pointers (MPI 3.1, 13.4.4): one a view. A position counts etypes of the view, from 0,
 * as MPI_File_get_position_shared does. Who takes gets the etypes from the pointer on, which is
 * moved behind them: nobody else gets the same, on any node.
 *
 * One of the nodes keeps the pointers (keeping.h), node 0 as long as it lives. The others ask it,
 * over lines (lines/lines.h) that stay when the mount is degraded.
 *
 * With the pointers go the turns of "ordered" (ordered.h), on all nodes: a view's shares are
 * numbered, that of a rank's round by its round times the ranks, and its rank, and the turn of each
 * comes when all before it are over. The shares of a node that has ended are over; one at whose
 * turn its node is silent for twice the timeout is passed over, and gets nothing any more.
 *
 * Functions are thread-safe, and return a negative errno where they fail. -EIO: who keeps the
 * pointers was not found for some time, as too many nodes do not answer.
 */
struct mpiio_pointers;

/* Pointers at most; nodes at most. */
#define MPIIO_POINTERS_MAX   4096
#define MPIIO_POINTERS_NODES MPIIO_LINES_NODES

struct mpiio_pointers_options {
    size_t count;                     /* how many there are, MPIIO_POINTERS_MAX at most */
    const int64_t *start;             /* where each begins; borrowed for the call */
    int node, nodes;                  /* this node's number, and how many there are */
    int64_t ranks;                    /* of each view, which may have shares; 0: there are none */
    int timeout;                      /* ms for which another node may not answer */
    struct mpiio_local_address local; /* where it listens, and connects from */
    /* Called with true by who begins to wait for other nodes, and with false behind; a line for the
     * log. */
    void (*wait)(void *data, bool waits);
    void (*log)(void *data, enum mpiio_log_level level, const char *line);
    /* A turn has come; own: this node is said to have its share. From any thread of the pointers,
     * and inside their functions; turns may come in any order. */
    void (*turn)(void *data, size_t view, uint64_t turn, bool own);
    /* This node, which keeps the turns, has passed over another one at the turn of its share: what
     * that took last, up to position, may be missing. As turn; NULL: nobody is told. */
    void (*passed)(void *data, size_t view, uint64_t share, int node, int64_t position);
    void *data; /* theirs */
};

struct mpiio_pointers_stats {
    uint64_t takes;  /* that have got something, on this node */
    uint64_t etypes; /* that they have got */
    int keeper;      /* the node that keeps the pointers, as far as is known here */
};

/* 0 or a negative errno. */
int mpiio_pointers_new(const struct mpiio_pointers_options *options,
                       struct mpiio_pointers **pointers);

/* Nobody uses them any more: for the others, this node has ended. NULL is allowed. */
void mpiio_pointers_free(struct mpiio_pointers *pointers);

/*
 * Of several nodes. Listens: *place (malloc'd) is what the others are to be told. Then meets them:
 * places are all nodes', by number, a zero byte behind each; size bytes. From start on, after
 * any fork, they are answered. 0 or a negative errno.
 */
int mpiio_pointers_listen(struct mpiio_pointers *pointers, char **place);
int mpiio_pointers_meet(struct mpiio_pointers *pointers, const char *places, size_t size);
int mpiio_pointers_start(struct mpiio_pointers *pointers);

/* In the place of a share: none. */
#define MPIIO_POINTERS_ANYBODY UINT64_MAX

/*
 * Takes count > 0 etypes, or as many as there are below limit, from *position on; for a share at
 * its turn, or for anybody. Returns how many they are; 0: the pointer, which stays, is at limit or
 * behind it; -ESTALE: the share was passed over.
 */
int64_t mpiio_pointers_take(struct mpiio_pointers *pointers, size_t pointer, uint64_t share,
                            int64_t count, int64_t limit, int64_t *position);

/* MPI_File_get_position_shared and MPI_File_seek_shared with MPI_SEEK_SET. 0 or a negative errno.
 */
int mpiio_pointers_get(struct mpiio_pointers *pointers, size_t pointer, int64_t *position);
int mpiio_pointers_set(struct mpiio_pointers *pointers, size_t pointer, int64_t position);

/*
 * The next share of a rank, 0 <= rank < ranks, is this node's: its number. And it is over, at its
 * turn: *turn is the next one then. 0 or a negative errno; a share may be ended again.
 */
int mpiio_pointers_open(struct mpiio_pointers *pointers, size_t view, int64_t rank,
                        uint64_t *number);
int mpiio_pointers_over(struct mpiio_pointers *pointers, size_t view, uint64_t number,
                        uint64_t *turn);

/* The share whose turn it is. 0 or a negative errno. */
int mpiio_pointers_turn(struct mpiio_pointers *pointers, size_t view, uint64_t *turn);

/* This node opens no share any more, nor do ranks come any more that are missing before those that
   it has: these are passed over. */
void mpiio_pointers_leave(struct mpiio_pointers *pointers);

/* ms since who keeps the pointers has answered a question for turns last. */
int64_t mpiio_pointers_quiet(struct mpiio_pointers *pointers);

/*
 * This node has nothing to place any more: how many other nodes it is to wait for, before it ends;
 * or a negative errno. 0 where shares and pointers were never used, as far as is known.
 */
int64_t mpiio_pointers_done(struct mpiio_pointers *pointers);

void mpiio_pointers_get_stats(struct mpiio_pointers *pointers, struct mpiio_pointers_stats *stats);

#endif
