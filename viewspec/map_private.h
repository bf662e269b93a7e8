/* SPDX-License-Identifier: MIT */
#ifndef VS_MAP_PRIVATE_H
#define VS_MAP_PRIVATE_H

#include "arena.h"
#include "map.h"
#include "node.h"

/* Private to viewspec/: what a map is made of. */

/*
 * Builds the map of a type in arena, tiled `tiles` times (INT64_MAX: for ever). 0, -ENOMEM,
 * -EOVERFLOW, or -E2BIG: too deep.
 */
int vs_map_build(struct vs_arena *arena, int64_t displacement, int64_t extent, int64_t tiles,
                 const struct vs_node *tile, const struct vs_map **map);

/* The root of a map: all tiles, placed by the view's displacement. NULL: no data. */
struct vs_map;
const struct vs_node *vs_map_root(const struct vs_map *map);

/* One tile, its displacements counted from the tile's beginning. NULL: no data. */
const struct vs_node *vs_map_tile(const struct vs_map *map);

#endif
