/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POINTERS_H
#define MPIIO_POINTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/local_address.h"
#include "lines/lines.h"

/*
 * Shared file pointers (MPI 3.1, 13.4.4): one a view. A position counts etypes of the view, from 0,
 * as MPI_File_get_position_shared does. Who takes gets the etypes from the pointer on, which is
 * moved behind them: nobody else gets the same, on any node.
 *
 * One of the nodes keeps the pointers (keeping.h), node 0 as long as it lives. The others ask it,
 * over lines (lines/lines.h) that stay when the mount is degraded.
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
    int timeout;                      /* ms for which another node may not answer */
    struct mpiio_local_address local; /* where it listens, and connects from */
    /* Called with true by who begins to wait for other nodes, and with false behind; a line for the
     * log. */
    void (*wait)(void *data, bool waits);
    void (*log)(void *data, const char *line);
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

/*
 * Takes count > 0 etypes, or as many as there are below limit, from *position on. Returns how many
 * they are; 0: the pointer, which stays, is at limit or behind it.
 */
int64_t mpiio_pointers_take(struct mpiio_pointers *pointers, size_t pointer, int64_t count,
                            int64_t limit, int64_t *position);

/* MPI_File_get_position_shared and MPI_File_seek_shared with MPI_SEEK_SET. 0 or a negative errno.
 */
int mpiio_pointers_get(struct mpiio_pointers *pointers, size_t pointer, int64_t *position);
int mpiio_pointers_set(struct mpiio_pointers *pointers, size_t pointer, int64_t position);

void mpiio_pointers_get_stats(struct mpiio_pointers *pointers, struct mpiio_pointers_stats *stats);

#endif
