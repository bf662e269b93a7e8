/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_HOME_H
#define ENGINE_HOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collective.h"
#include "file_write.h"
#include "core/cache/homes.h"
#include "core/cache/slots.h"
#include "cluster/engine_channel.h"

/*
 * Pieces. A piece is a node's part of a block, in the form in which it travels to the block's home.
 * It has the dirty bytes, packed, after a description of their positions. The description is the
 * list of their runs, or the mask from its first to its last word that is not empty, whichever is
 * shorter. The length is a multiple of ENGINE_PIECE_UNIT, so that adjacent pieces in a buffer are
 * aligned. The functions of pieces are local. The slot of a piece must not change between the first
 * and the last of these calls.
 */

/* The minimum length of runs that MPI_File_write_at_all stores, where it is used. */
#define ENGINE_LONG_RUN ((size_t)64 << 10)

/* Bytes behind a piece that engine_piece_make may overwrite. */
#define ENGINE_PIECE_SLACK MPIIO_MASK_SLACK

/* The alignment of lengths. MPI, whose counts are ints, transfers pieces in such words. */
#define ENGINE_PIECE_UNIT 8

/* The maximum length of a piece: the mask is the longest description. */
#define ENGINE_PIECE_MOST (MPIIO_SLOT_SIZE + 64)

/* The layout of a packed block. */
struct engine_shape {
    uint32_t first_word; /* of the mask */
    uint32_t words;      /* 0: the piece has a list of runs */
    uint32_t runs;       /* the length of that list if words is 0 */
    uint32_t dirty;      /* bytes of data */
};

/* Returns the shortest shape for the dirty bytes of slot. */
struct engine_shape engine_shape_of(const struct mpiio_slot *slot);

/* Returns true if the runs are shorter than ENGINE_LONG_RUN on average. */
bool engine_shape_is_short(const struct engine_shape *shape);

/* Returns the length in bytes of a piece of that shape; at most ENGINE_PIECE_MOST. */
size_t engine_piece_size(const struct engine_shape *shape);

/* Makes the piece at to, which must be aligned to 8 bytes and have room for the piece and
   ENGINE_PIECE_SLACK bytes more. */
void engine_piece_make(const struct engine_shape *shape, const struct mpiio_slot *slot, void *to);

/*
 * Merges a piece of length bytes, aligned to 8, into the block of mask and data; its bytes win.
 * Returns 0, or -EPROTO if the piece is invalid: then some of its bytes may have been merged.
 */
int engine_piece_lay(const void *piece, size_t length, uint64_t *mask, char *data);

/* Merges the dirty bytes of slot, which win, without making a piece of them. The slot must not have
   changed since engine_shape_of. */
void engine_piece_lay_slot(const struct mpiio_slot *slot, uint64_t *mask, char *data);

/*
 * The homes of blocks. Each block of the file has a home among the nodes (core/cache/homes.h),
 * which merges the pieces of all nodes and stores the block. MPIIO_HOMES_GROUP consecutive blocks
 * are a group, which is stored as one if the blocks have the same home.
 *
 * A home has at most ENGINE_OPEN groups open at a time, however many pieces wait for it. It
 * requests their pieces, and those of the next group when one is stored. The pieces of a block
 * arrive in the order of the nodes. So if two nodes have written a byte, the same one wins each
 * time.
 */
#define ENGINE_OPEN 16

/*
 * Bytes in flight to or from a node in one round. A larger single piece is allowed. The limit is
 * low because memory that is new to the engine costs more than copying does; but with many nodes,
 * each has 64 KiB of it.
 */
static inline size_t engine_round_bytes(int nodes)
{
    size_t least = (size_t)4 << 20, most = (size_t)64 << 20, bytes = (size_t)nodes << 16;

    return bytes < least ? least : bytes > most ? most : bytes;
}

/* The announcement of a piece by a node. */
struct engine_notice {
    int64_t block;
    int32_t bytes; /* the length of the piece */
    /* if it may be left for another flush: its dirty bytes, in short runs; else 0 */
    int32_t may_wait;
};

struct engine_home;

/*
 * Makes the home, at node, of pieces that all nodes have announced. notices.bytes is an array of
 * struct engine_notice, in the order of nodes, and ascending by block for each node. It is
 * borrowed. A block is left if all its pieces may wait and do not fill it: no piece is requested,
 * and its error is -EAGAIN. Returns 0, -ENOMEM, or -EPROTO if a notice is not for this home (node).
 * Local.
 */
int engine_home_new(int node, const struct mpiio_homes *homes, const struct engine_parts *notices,
                    struct engine_home **home);

/* Frees the home, which may be NULL. */
void engine_home_free(struct engine_home *home);

/*
 * Chooses the pieces to request in the next round. counts and words have an entry for each part of
 * the notices. counts gives the number of pieces requested from each node. The result, which the
 * home owns, lists them in the order of nodes, by their index among the node's announcements. words
 * gives the total length of a node's pieces in units of ENGINE_PIECE_UNIT; 0 for this node itself,
 * whose pieces do not travel, but count like the others: so rounds of a home that merges mostly its
 * own pieces stay short. The sum is less than engine_round_bytes, or a single piece. While
 * pieces are missing, at least one is requested. From each node it requests at most an equal
 * fraction of the round, or one piece, so that no node sends much more than a round. Local.
 */
const int32_t *engine_home_ask(struct engine_home *home, struct engine_part *counts,
                               struct engine_part *words);

/*
 * Merges the pieces requested last. The pieces of other nodes are in pieces, in the order in which
 * engine_home_ask has listed them. lay_own(argument, place, mask, data) merges this node's piece
 * with that index into a block. Local.
 */
void engine_home_take(struct engine_home *home, const char *pieces,
                      void (*lay_own)(void *argument, int32_t place, uint64_t *mask, char *data),
                      void *argument);

/*
 * Stores the groups whose pieces have all arrived. Collective. Returns true while pieces are
 * missing at any home. engine_home_errors returns the errors.
 */
bool engine_home_store(struct engine_home *home, struct engine_file *file,
                       struct engine_collective *engines, struct mpiio_epoch_counters *counters);

/* Reports the result of each piece in the order of the notices: 0 or a negative errno. Local. */
void engine_home_errors(const struct engine_home *home, int32_t *errors);

#endif
