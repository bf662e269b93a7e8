/* SPDX-License-Identifier: MIT */
#ifndef VS_PAIR_H
#define VS_PAIR_H

#include "viewspec/base/arena.h"
#include "node.h"

/*
 * Private to viewspec/: two typemaps of the same elements, side by side. One gives the place of
 * element i in the file, the other its place in memory. The result is a list of pieces, each a nest
 * of loops that runs through both at once. Regular types have a few pieces, regardless of the
 * number of elements.
 */

/* A loop of count elements at distances in bytes in the file and in memory. */
struct vs_pair_loop {
    int64_t count, file, memory;
};

/* An element at both places, and the loops that repeat it, outermost first. */
struct vs_piece {
    int64_t file, memory;
    int depth;
    const struct vs_pair_loop *loops;
};

/* The limit of loops around one element. */
#define VS_PAIR_DEPTH 256

/* The limit of pieces. Types that need more are refused. */
#define VS_PIECES_MAX (INT64_C(1) << 20)

struct vs_pieces {
    struct vs_piece *list; /* owned; freed by the caller by free() */
    int64_t count;
    size_t room;
};

/* Adds a piece. Returns 0, -ENOMEM, or -E2BIG if there are VS_PIECES_MAX already. */
int vs_pieces_add(struct vs_pieces *pieces, const struct vs_piece *piece);

/*
 * Appends to pieces the pieces of two typemaps of the same size, in which each element is one byte.
 * Loops are allocated in arena. Returns 0, -ENOMEM, or -E2BIG if there are too many pieces or
 * loops.
 */
int vs_pair(struct vs_arena *arena, const struct vs_node *file, const struct vs_node *memory,
            struct vs_pieces *pieces);

#endif
