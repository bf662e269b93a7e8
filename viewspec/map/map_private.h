/* SPDX-License-Identifier: MIT */
#ifndef VS_MAP_PRIVATE_H
#define VS_MAP_PRIVATE_H

#include "viewspec/base/arena.h"
#include "viewspec/map.h"
#include "node.h"

/* Private to viewspec/: the nodes of a map, and its order in memory. */

/*
 * order.c: the order in which a process has the etypes of a tile in memory (the buftype), if it
 * differs from the file's. The bytes inside an etype keep their order.
 */

/* The limit of pieces of an order. Types that need more are refused. */
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
    int64_t etype_file, etype_memory; /* bytes of an etype */
    int64_t extent;                   /* of the tile in memory; set by the caller */
    int64_t grain;  /* a divisor of the position and length of each element in memory and of the
                       extent; set by the caller; 0: unknown */
    int64_t pieces; /* number of pieces needed, tens of nanoseconds each */
};

/*
 * Finds the order. Records overflow in arena. Returns 0, -ENOMEM, -EINVAL if two etypes overlap or
 * interleave in memory, or -E2BIG if more than VS_PIECES_MAX pieces are needed.
 */
int vs_order_find(struct vs_arena *arena, const struct vs_both *both, struct vs_order *order);

struct vs_array;

/* The tile that a view repeats. */
struct vs_tile {
    const struct vs_node *node; /* in the file's order; NULL: no data */
    int64_t extent, tiles;      /* INT64_MAX tiles: without end */
    bool ordered;               /* the slice has an order of its own, `order` */
    struct vs_order order;
    const struct vs_array *memory; /* the array that a tile of the slice forms; NULL: none */
};

/*
 * Builds the map of a view in arena. The tile is borrowed, and must live as long as the map.
 * Returns 0, -ENOMEM, -EOVERFLOW, or -E2BIG if it is nested too deep.
 */
int vs_map_build(struct vs_arena *arena, int64_t displacement, const struct vs_tile *tile,
                 const struct vs_map **map);

/*
 * The root is one loop over all tiles, or over those that fit below 2^63. Seeking and walking then
 * need no special case for tiles, and a loop in the filetype that continues from tile to tile
 * merges with it.
 */
struct vs_map {
    const struct vs_node *root; /* all tiles, placed at the view's displacement; NULL: no data */
    const struct vs_node *tile; /* in the file's order, relative to its beginning; NULL: no data */
    struct vs_map_facts facts;

    /* In an ordered map, the same bytes in the file's order, and the map from native bytes in this
       order to slice offsets. Else NULL. */
    const struct vs_map *by_file, *memory;
    const struct vs_order *order;
};

#endif
