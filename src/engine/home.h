/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_HOME_H
#define ENGINE_HOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collective.h"
#include "file_write.h"
#include "core/cache/homes.h"
#include "cluster/engine_channel.h"

/*
 * The homes of blocks: each block of the file has one among the nodes (core/cache/homes.h), where
 * the pieces that the nodes have of it are merged, and which stores them. MPIIO_HOMES_GROUP blocks
 * that follow each other are a group, and stored as one, as far as they have the same home.
 *
 * A home holds ENGINE_OPEN groups at a time at most, however many pieces wait for it: it asks for
 * the pieces of these, and for the next ones when one is stored. The pieces of a block come in the
 * order of the nodes, so that where two nodes have written a byte, the same one wins each time.
 */
#define ENGINE_OPEN 16

/*
 * What is in flight to or from a node in one round, in bytes; more only where one piece is. Memory
 * that is new to the engine costs more than what is copied to it, so it is little; but of many
 * nodes, each has 64 KiB of it.
 */
static inline size_t engine_round_bytes(int nodes)
{
    size_t least = (size_t)4 << 20, most = (size_t)64 << 20, bytes = (size_t)nodes << 16;

    return bytes < least ? least : bytes > most ? most : bytes;
}

/* A piece that a node has announced. */
struct engine_notice {
    int64_t block;
    int32_t bytes;    /* its length */
    int32_t may_wait; /* its dirty bytes, in short runs, if it may be left; else 0 */
};

struct engine_home;

/*
 * Makes the home, at node, of pieces that other nodes and this one have announced: notices.bytes is
 * of struct engine_notice, one node's behind another's, each node's ascending by block. It is
 * borrowed. Blocks of which all pieces may wait, and that these do not fill, are left: nobody is
 * asked for them, and their error is -EAGAIN. 0, -ENOMEM, or -EPROTO where notices are not for this
 * home (node). Local.
 */
int engine_home_new(int node, const struct mpiio_homes *homes, const struct engine_parts *notices,
                    struct engine_home **home);

/* Frees. NULL is allowed. */
void engine_home_free(struct engine_home *home);

/*
 * Chooses the pieces to ask for in the next round. There is one of counts and of words for each
 * part of the notices: asks of the nodes, by their place among what each announced, which lie
 * one node's behind another's in asks, which is the home's; and how long the pieces are together,
 * in units of ENGINE_PIECE_UNIT; 0 for this node itself, whose pieces do not travel. Fewer than
 * engine_round_bytes in all, or one piece; at least one as long as any is missing, and of each node
 * at most its share, so that no node sends much more than that. Local.
 */
void engine_home_ask(struct engine_home *home, struct engine_part *counts,
                     struct engine_part *words, const int32_t **asks);

/*
 * Merges the pieces that were asked for last: those of other nodes lie in the order of asks in
 * pieces; own(argument, place) returns this node's own with that place, to be used before the next
 * call. Local.
 */
void engine_home_take(struct engine_home *home, const char *pieces,
                      const char *(*own)(void *argument, int32_t place), void *argument);

/*
 * Stores the groups of which all pieces are there. Collective. Returns true as long as pieces are
 * missing at any home. Errors are kept (engine_home_errors).
 */
bool engine_home_store(struct engine_home *home, struct engine_file *file,
                       struct engine_collective *engines, struct mpiio_epoch_counters *counters);

/* What became of the pieces, in the order of the notices: 0 or a negative errno for each. Local. */
void engine_home_errors(const struct engine_home *home, int32_t *errors);

#endif
