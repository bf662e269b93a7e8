/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_STALL_H
#define MPIIO_STALL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/base/progress.h"

/*
 * An epoch that does not come further: who does not reach whom, found from what all nodes say of
 * their engines. Exchanges have the same order everywhere. So whoever waits for a node that has
 * come to the same exchange, or a later one, waits for what was sent, and does not arrive; whoever
 * waits for one that has not come that far, waits for what that one waits for.
 *
 * So those that have come least far tell, and on the way to node 0 no others are kept: a node that
 * is not among them has come as far as any of them, or is through with the epoch.
 *
 * All functions are local.
 */

#define MPIIO_STALL_HOST  63 /* characters of a host's name at most: the rest is cut off */
#define MPIIO_STALL_NODES 8

/* A node whose engine waits for others. */
struct mpiio_stall_node {
    uint32_t node;
    char host[MPIIO_STALL_HOST + 1];
    struct mpiio_progress progress;
};

/* Those that have come least far, of some nodes, all of which wait or are through with it. */
struct mpiio_stall {
    uint32_t count;
    struct mpiio_stall_node nodes[MPIIO_STALL_NODES];
};

/* Adds a node. Where there is no room, one that has come furthest is dropped. */
void mpiio_stall_add(struct mpiio_stall *stall, const struct mpiio_stall_node *node);

/* Adds those of another. */
void mpiio_stall_merge(struct mpiio_stall *stall, const struct mpiio_stall *other);

/* As bytes, at most MPIIO_STALL_BYTES: how many. Back: 0, or -EPROTO where they are none. */
#define MPIIO_STALL_BYTES                                                                          \
    (1 + MPIIO_STALL_NODES * (32 + MPIIO_STALL_HOST + 8 * MPIIO_PROGRESS_NODES))
size_t mpiio_stall_encode(const struct mpiio_stall *stall, uint8_t *bytes);
int mpiio_stall_decode(const void *bytes, size_t size, struct mpiio_stall *stall);

/* The text for people has fewer bytes than this. */
#define MPIIO_STALL_TEXT 256

/*
 * Writes who does not reach whom, as many as text has room for, in one line. host(data, node) is
 * the name of a node that is not in stall, NULL where it is not known, as for nodes that there are
 * not. Returns the first node that does not hear another; where none is found, the first that
 * waits, and who waits for whom is told; -1: nobody waits.
 */
int mpiio_stall_describe(const struct mpiio_stall *stall,
                         const char *(*host)(void *data, uint32_t node), void *data, char *text,
                         size_t size);

#endif
