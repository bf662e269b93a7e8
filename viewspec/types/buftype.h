/* SPDX-License-Identifier: MIT */
#ifndef VS_BUFTYPE_H
#define VS_BUFTYPE_H

#include <jansson.h>

#include "build.h"
#include "viewspec/map/map_private.h"
#include "viewspec/base/place.h"
#include "type.h"
#include "view.h"

/* Private to viewspec/: the layout of a view's slice: the order of its etypes, from "buftype" and
   "memory", and the array that it is, from "shape". */

/* A value of the view and its place. If the value is absent, the place is the view's. */
struct vs_member {
    json_t *value; /* NULL: absent */
    const struct vs_place *place;
};

/* The inputs for finding a tile's order. All are borrowed. */
struct vs_buftype_source {
    const struct vs_source *source;
    struct vs_arena *arena; /* for the results */
    const struct vs_representation *representation;
    struct vs_member etype, filetype, buftype, memory;
    const struct vs_type *file_etype, *file_type;
};

/* The tile that a view repeats. */
struct vs_tile {
    const struct vs_node *node; /* in the file's order */
    int64_t extent, tiles;      /* INT64_MAX tiles: without end */
    bool ordered;               /* the slice has an order of its own, `order` */
    struct vs_order order;
    const struct vs_array *memory; /* the array that a tile of the slice forms; NULL: none */
};

/*
 * Finds the order of a tile, given the filetype and the number of tiles, and fills in the rest.
 * Unites tiles that interleave in memory to one tile. Changes nothing if the view has neither key.
 * Returns 0, or the code of an error, which is recorded in the scope.
 */
int vs_buftype_find(const struct vs_buftype_source *from, struct vs_tile *tile);

/* A tile of a slice. All pointers are borrowed. */
struct vs_slice_tile {
    int64_t etypes; /* number of etypes with data */
    const struct vs_view_facts *facts;
    const struct vs_order *order; /* NULL: the slice has no gaps */
};

/*
 * Reads value, a list of sizes at place, as an array in C order, and allocates it in the arena. The
 * array must have as many elements as the tile has etypes, including gaps. Returns 0, or a negative
 * errno with the scope's error filled.
 */
int vs_local_array(const struct vs_source *source, json_t *value, const struct vs_place *place,
                   struct vs_arena *arena, const struct vs_slice_tile *tile,
                   const struct vs_array **result);

#endif
