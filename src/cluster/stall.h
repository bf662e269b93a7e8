/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_STALL_H
#define MPIIO_STALL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/base/progress.h"

/*
 * Diagnosis of an epoch that makes no progress: which node does not reach which, derived from the
 * states that all engines report. All nodes do their exchanges in the same order. If a node waits
 * for another one that has reached the same exchange or a later one, the message that it waits for
 * was sent and has not arrived. If the other one has not reached the exchange, both wait for the
 * same cause. So the nodes that are furthest behind show the cause. Nodes on the way to node 0
 * forward only the states of those: every other node is as far, or has finished the epoch. All
 * functions are local.
 */

#define MPIIO_STALL_HOST  63 /* maximum length of a host name; the rest is cut off */
#define MPIIO_STALL_NODES 8

/* A node whose engine waits for others. */
struct mpiio_stall_node {
    uint32_t node;
    char host[MPIIO_STALL_HOST + 1];
    struct mpiio_progress progress;
};

/* The nodes that are furthest behind, of a set of nodes that all wait or have finished the
   epoch. */
struct mpiio_stall {
    uint32_t count;
    struct mpiio_stall_node nodes[MPIIO_STALL_NODES];
};

/* Adds a node. If the list is full, a node that has come furthest is dropped. */
void mpiio_stall_add(struct mpiio_stall *stall, const struct mpiio_stall_node *node);

/* Adds the nodes of another list. */
void mpiio_stall_merge(struct mpiio_stall *stall, const struct mpiio_stall *other);

/* Encode to at most MPIIO_STALL_BYTES, and return the number of bytes; decode, and return 0, or
   -EPROTO with no node in *stall. */
#define MPIIO_STALL_BYTES                                                                          \
    (1 + MPIIO_STALL_NODES * (32 + MPIIO_STALL_HOST + 8 * MPIIO_PROGRESS_NODES))
size_t mpiio_stall_encode(const struct mpiio_stall *stall, uint8_t *bytes);
int mpiio_stall_decode(const void *bytes, size_t size, struct mpiio_stall *stall);

/* The maximum size of the text in bytes. */
#define MPIIO_STALL_TEXT 256

/*
 * Writes one line that names which nodes do not reach which, as many as text has room for.
 * host(data, node) returns the name of a node that is not in stall, or NULL if it is unknown, also
 * for numbers that no node has. Returns the first node that does not hear another one. If there is
 * none, the line names a waiting node and a node that it waits for. Then the waiting node is
 * returned. Returns -1 if no node waits.
 */
int mpiio_stall_describe(const struct mpiio_stall *stall,
                         const char *(*host)(void *data, uint32_t node), void *data, char *text,
                         size_t size);

#endif
