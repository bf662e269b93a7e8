/* SPDX-License-Identifier: MIT */
#ifndef VS_BUFTYPE_H
#define VS_BUFTYPE_H

/* Private to viewspec/: the layout of etypes in a view's slice, from "buftype" and "memory". */

#include <jansson.h>

#include "build.h"
#include "viewspec/map/order.h"
#include "viewspec/base/place.h"
#include "type.h"
#include "view.h"

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
    bool ordered;               /* it has an order of its own, which is in order */
    struct vs_order order;
    const struct vs_array *memory; /* the array that the tile is in the slice; NULL: none */
};

/*
 * Finds the order of a tile, given the filetype and the number of tiles, and fills in the rest.
 * Tiles that interleave in memory become one tile. Changes nothing if the view has neither key.
 * Errors are noted in the scope's error. Returns 0 or the code of the error.
 */
int vs_buftype_find(const struct vs_buftype_source *from, struct vs_tile *tile);

#endif
