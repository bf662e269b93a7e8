/* SPDX-License-Identifier: MIT */
#ifndef VS_PAIR_H
#define VS_PAIR_H

#include "viewspec/base/arena.h"
#include "node.h"

/*
 * Private to viewspec/: two typemaps over the same elements, side by side. Element number i lies in
 * the file where one of them puts it, and in memory where the other does; together that is a list
 * of pieces, each a nest of loops that runs through both at once. Regular types have a few pieces,
 * however many elements there are.
 */

/* Elements repeat count times, so many bytes apart in the file and in memory. */
struct vs_pair_loop {
    int64_t count, file, memory;
};

/* An element at both places, and those that the loops make of it, the outermost first. */
struct vs_piece {
    int64_t file, memory;
    int depth;
    const struct vs_pair_loop *loops;
};

/* The loops around one element at most. */
#define VS_PAIR_DEPTH 256

/* So many pieces at most: what is more irregular has no order. */
#define VS_PIECES_MAX (INT64_C(1) << 20)

struct vs_pieces {
    struct vs_piece *list; /* to be freed */
    int64_t count;
    size_t room;
};

/* Adds one. 0, -ENOMEM, or -E2BIG where there are VS_PIECES_MAX. */
int vs_pieces_add(struct vs_pieces *pieces, const struct vs_piece *piece);

/*
 * Appends the pieces of two typemaps of the same size, of a byte for each element, to pieces. Their
 * loops live in arena. 0, -ENOMEM, or -E2BIG: too many pieces or loops.
 */
int vs_pair(struct vs_arena *arena, const struct vs_node *file, const struct vs_node *memory,
            struct vs_pieces *pieces);

#endif
