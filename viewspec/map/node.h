/* SPDX-License-Identifier: MIT */
#ifndef VS_NODE_H
#define VS_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "viewspec/base/arena.h"

/* Private to viewspec/: the trees of loops that types are compiled to. */

/*
 * A node is the typemap of one instance of a type: its bytes and their order. Displacements are
 * relative to the origin of the instance and include the node's own base. Nodes are immutable and
 * may be shared by several parents. A type without data is NULL, not a node.
 */
enum vs_node_kind {
    VS_RUN,    /* size adjacent bytes */
    VS_LOOP,   /* child at base + i * stride, 0 <= i < count (count >= 2) */
    VS_BLOCKS, /* n >= 2 lists of instances of one child: block b has its instances at
                  base + displacements[b] + j * stride */
    VS_SEQ,    /* n >= 2 different children, each placed by its own base, relative to base */
};

/*
 * Facts of a type that its merged loops no longer show. A "start" is the beginning of an etype (in
 * a filetype) or of a basic type (in an etype). Displacements are relative as in the node.
 */
struct vs_starts {
    int64_t first; /* the first start in typemap order */
    int64_t last;  /* the last one */
    int64_t grain; /* greatest common divisor of all distances between starts; 0: one start */
};

struct vs_node {
    enum vs_node_kind kind;
    int depth;      /* nodes on the longest path down, this one included */
    bool monotonic; /* starts never decrease in typemap order (MPI 3.1, 13.3) */
    bool disjoint;  /* monotonic, and no byte occurs twice */
    int64_t base;
    int64_t size;   /* data bytes, > 0 */
    int64_t lo, hi; /* lowest byte, and the byte after the highest */
    int64_t runs;   /* leaf runs, adjacent ones of different leaves not merged; saturates */
    struct vs_starts starts;
    int64_t count;                /* LOOP: instances; BLOCKS: blocks; SEQ: children */
    int64_t stride;               /* LOOP, BLOCKS */
    const struct vs_node *child;  /* LOOP, BLOCKS */
    const int64_t *displacements; /* BLOCKS: count of them */
    const int64_t *reach;  /* BLOCKS that do not ascend: how far the blocks up to b reach, without
                              base; else NULL */
    const int64_t *before; /* BLOCKS: instances before block b; SEQ: bytes before
                              child b; count + 1 entries, the last is the total */
    const struct vs_node *const *children; /* SEQ */
};

/*
 * Constructors. Each returns a node in arena, normalized to the simplest kind, or NULL for no data.
 * Overflow of 64 bits and lack of memory are recorded in the arena (arena->failure: -EOVERFLOW,
 * -ENOMEM); the returned node must then not be used.
 */

/* Makes one basic type of size bytes at displacement 0. */
const struct vs_node *vs_node_run(struct vs_arena *arena, int64_t size);

/* Makes one etype: the loops of node, with a single start at displacement 0. */
const struct vs_node *vs_node_unit(struct vs_arena *arena, const struct vs_node *node);

/* Moves node by distance. */
const struct vs_node *vs_node_shift(struct vs_arena *arena, const struct vs_node *node,
                                    int64_t distance);

const struct vs_node *vs_node_loop(struct vs_arena *arena, int64_t count, int64_t stride,
                                   const struct vs_node *child);

/*
 * Makes count blocks of child. Block b has lengths[b] instances, or `length` if lengths is NULL.
 * They are stride apart, from displacements[b] * unit on. The arrays are only read.
 */
const struct vs_node *vs_node_blocks(struct vs_arena *arena, int64_t count, const int64_t *lengths,
                                     int64_t length, const int64_t *displacements, int64_t unit,
                                     int64_t stride, const struct vs_node *child);

/* Makes a sequence of count children. NULL children have no data. The array is only read. */
const struct vs_node *vs_node_seq(struct vs_arena *arena, int64_t count,
                                  const struct vs_node *const *children);

/*
 * Returns the last b with before[b] <= value, 0 <= b < count: the entry of BLOCKS or SEQ that
 * contains value.
 */
int64_t vs_node_entry(const int64_t *before, int64_t count, int64_t value);

/* Returns the displacement of data byte number position, 0 <= position < node->size. */
int64_t vs_node_seek(const struct vs_node *node, int64_t position);

/* Returns the first position whose displacement is >= displacement, or node->size. */
int64_t vs_node_lower_bound(const struct vs_node *node, int64_t displacement);

/*
 * find.c: returns the lowest position of the displacement, or -1; VS_FIND_GAVE_UP if that takes
 * more than *steps steps. Subtracts the steps taken.
 */
int64_t vs_node_find(const struct vs_node *node, int64_t displacement, int64_t *steps);

#endif
