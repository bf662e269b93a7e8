/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_PIECE_H
#define ENGINE_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/cache/slots.h"

/*
 * Pieces. A piece is a node's part of a block, in the form in which it travels to the block's home.
 * It has the dirty bytes, packed, after a description of their positions. The description is the
 * list of their runs, or the mask from its first to its last word that is not empty, whichever is
 * shorter. The length is a multiple of ENGINE_PIECE_UNIT, so that adjacent pieces in a buffer are
 * aligned. All functions are local. The slot of a piece must not change between the first and the
 * last of these calls.
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

#endif
