/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "view.h"
#include "map_private.h"
#include "integer.h"
#include "find.h"

/*
 * The root is one loop over all tiles, or those that fit below 2^63, so that seeking and walking
 * need no special case for tiles, and a loop in the filetype that continues from tile to tile
 * merges with it.
 */
struct vs_map {
    const struct vs_node *root;
    const struct vs_node *tile;
    struct vs_map_facts facts;
};

static int64_t tiles_below_limit(const struct vs_node *tile, int64_t displacement, int64_t extent)
{
    int64_t room = INT64_MAX - displacement - tile->hi;
    int64_t by_displacement = room < 0 ? 0 : room / extent + 1;
    int64_t by_size = INT64_MAX / tile->size;
    return by_displacement < by_size ? by_displacement : by_size;
}

int vs_map_build(struct vs_arena *arena, int64_t displacement, int64_t extent, int64_t tiles,
                 const struct vs_node *tile, const struct vs_map **result)
{
    struct vs_map *map = vs_arena_alloc(arena, sizeof(*map));
    if (map == NULL)
        return -ENOMEM;
    map->facts = (struct vs_map_facts){
        .displacement = displacement,
        .tile_extent = extent,
        .tiles = tiles,
        .first = displacement,
        .end = displacement,
        .monotonic = true,
        .disjoint = true,
    };
    *result = map;
    if (tile == NULL || tiles == 0)
        return 0;
    tiles = vs_min(tiles, tiles_below_limit(tile, displacement, extent));
    map->tile = tile;
    map->root = vs_node_shift(arena, vs_node_loop(arena, tiles, extent, tile), displacement);
    map->facts.tile_size = tile->size;
    map->facts.tile_runs = tile->runs;
    map->facts.first = vs_add(arena, displacement, tile->lo);
    map->facts.end = vs_add(arena, displacement, tile->hi);
    if (arena->failure)
        return arena->failure;
    if (!map->root)
        return -EOVERFLOW;
    map->facts.limit = map->root->size;
    map->facts.monotonic = map->root->monotonic;
    map->facts.disjoint = map->root->disjoint;
    return map->root->depth > VS_MAP_DEPTH ? -E2BIG : 0;
}

const struct vs_map_facts *vs_map_facts(const struct vs_map *map)
{
    return &map->facts;
}

const struct vs_node *vs_map_root(const struct vs_map *map)
{
    return map->root;
}

const struct vs_node *vs_map_tile(const struct vs_map *map)
{
    return map->tile;
}

int64_t vs_map_displacement(const struct vs_map *map, int64_t position)
{
    if (position < 0 || position >= map->facts.limit)
        return -1;
    return vs_node_seek(map->root, position);
}

int64_t vs_map_lower_bound(const struct vs_map *map, int64_t displacement)
{
    return map->root ? vs_node_lower_bound(map->root, displacement) : 0;
}

int64_t vs_map_find(const struct vs_map *map, int64_t displacement)
{
    int64_t steps = VS_FIND_STEPS;

    return vs_map_find_within(map, displacement, &steps);
}

int64_t vs_map_find_within(const struct vs_map *map, int64_t displacement, int64_t *steps)
{
    return map->root ? vs_node_find(map->root, displacement, steps) : -1;
}
