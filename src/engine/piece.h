/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_PIECE_H
#define ENGINE_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/cache/slots.h"

/*
 * Pieces: what one node has of a block, as it travels to the block's home. A piece is its dirty
 * bytes, packed, behind what tells their places: the list of their runs, or the mask between its
 * first and its last word that is not empty; whichever is shorter. Its length is a multiple of
 * ENGINE_PIECE_UNIT, so that pieces behind each other in a buffer are aligned. All functions are
 * local; nobody may change the slot of a piece between the first and the last of them.
 */

/* Runs of so many bytes and more are stored by MPI_File_write_at_all, where that is used. */
#define ENGINE_LONG_RUN ((size_t)64 << 10)

/* What may be written behind a piece when it is made. */
#define ENGINE_PIECE_SLACK MPIIO_MASK_SLACK

/* Its length is a multiple of this: MPI, which counts by ints, gets pieces in words. */
#define ENGINE_PIECE_UNIT 8

/* No piece is longer: its mask is the longest list. */
#define ENGINE_PIECE_MOST (MPIIO_SLOT_SIZE + 64)

/* How a block is packed. */
struct engine_shape {
    uint32_t first_word; /* of the mask */
    uint32_t words;      /* 0: runs are listed */
    uint32_t runs;       /* with words 0 */
    uint32_t dirty;      /* bytes of data */
};

/* The shortest shape for what slot has. */
struct engine_shape engine_shape_of(const struct mpiio_slot *slot);

/* Whether its runs are shorter than that, on average. */
bool engine_shape_is_short(const struct engine_shape *shape);

/* The length in bytes of a piece of that shape; at most ENGINE_PIECE_MOST. */
size_t engine_piece_size(const struct engine_shape *shape);

/* Makes the piece at to, which is aligned to 8 bytes, has its length and ENGINE_PIECE_SLACK more.
 */
void engine_piece_make(const struct engine_shape *shape, const struct mpiio_slot *slot, void *to);

/*
 * Lays the piece of length bytes, aligned to 8, over the block that mask and data hold: its bytes
 * win. 0, or -EPROTO where it is no piece: then some of its bytes may have been taken.
 */
int engine_piece_lay(const void *piece, size_t length, uint64_t *mask, char *data);

#endif
