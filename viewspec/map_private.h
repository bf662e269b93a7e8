/* SPDX-License-Identifier: MIT */
#ifndef VS_MAP_PRIVATE_H
#define VS_MAP_PRIVATE_H

#include "viewspec/base/arena.h"
#include "viewspec/map.h"
#include "viewspec/map/node.h"
#include "viewspec/map/order.h"

/* Private to viewspec/: the nodes of a map. */

/*
 * Builds the map of a type in arena, repeated `tiles` times (INT64_MAX: without end). Returns 0,
 * -ENOMEM, -EOVERFLOW, or -E2BIG if it is nested too deep.
 */
int vs_map_build(struct vs_arena *arena, int64_t displacement, int64_t extent, int64_t tiles,
                 const struct vs_node *tile, const struct vs_map **map);

/*
 * Builds a map whose positions follow another order than the file's, which `order` describes (its
 * extent must be set). etype_file and etype_memory are the bytes of an etype.
 */
struct vs_map_source {
    int64_t displacement, extent, tiles;
    const struct vs_node *tile;   /* in the file's order */
    const struct vs_order *order; /* borrowed; it lives as long as the map */
    int64_t etype_file, etype_memory;
};
int vs_map_build_ordered(struct vs_arena *arena, const struct vs_map_source *source,
                         const struct vs_map **map);

/* Returns the order of an ordered map; else NULL. */
const struct vs_order *vs_map_order(const struct vs_map *map);

/* Returns an ordered map's map from native bytes, in slice order without gaps, to slice offsets. */
const struct vs_map *vs_map_memory(const struct vs_map *map);

/* Returns the root of a map: all tiles, placed at the view's displacement. NULL: no data. */
struct vs_map;
const struct vs_node *vs_map_root(const struct vs_map *map);

/* Returns one tile in the file's order, with displacements relative to its beginning. NULL: no
   data. */
const struct vs_node *vs_map_tile(const struct vs_map *map);

#endif
