/* SPDX-License-Identifier: MIT */
#ifndef VS_ORDER_H
#define VS_ORDER_H

#include "viewspec/base/arena.h"
#include "node.h"

/*
 * Private to viewspec/: the order in which a process has the etypes of a tile in memory (the
 * buftype), if it differs from the file's. The bytes inside an etype keep their order.
 */

/* The limit of pieces (order.c) of an order. Types that need more are refused. */
#define VS_PIECES_MAX (INT64_C(1) << 20)

/* The places of a tile's etypes, by their numbers in the file's order, and the bytes of an etype.
 */
struct vs_both {
    const struct vs_node *file;   /* displacements of their origins, as runs of a byte each */
    const struct vs_node *memory; /* the same in memory; not negative */
    const struct vs_node *file_etype, *memory_etype; /* all bytes of one etype */
};

/* A tile in the order of memory. Nodes live in the arena that they were made in. */
struct vs_order {
    const struct vs_node *file;    /* the bytes of the file */
    const struct vs_node *origins; /* a byte for each etype: the displacement of its origin */
    const struct vs_node *memory;  /* native bytes: their places in memory, ascending */
    const struct vs_node *places; /* by the numbers in the file's order: the first byte in memory */
    int64_t extent;               /* of the tile in memory; set by the caller */
    int64_t grain;  /* a divisor of the position and length of each element in memory and of the
                       extent; set by the caller; 0: unknown */
    int64_t pieces; /* number of pieces needed, tens of nanoseconds each */
};

/*
 * Finds the order. Records overflow in arena. Returns 0, -ENOMEM, -EINVAL if two etypes overlap or
 * interleave in memory, or -E2BIG if more than VS_PIECES_MAX pieces are needed.
 */
int vs_order_find(struct vs_arena *arena, const struct vs_both *both, struct vs_order *order);

#endif
