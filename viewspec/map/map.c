/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "map_private.h"
#include "viewspec/base/integer.h"

static int64_t tiles_below_limit(const struct vs_node *tile, int64_t displacement, int64_t extent)
{
    int64_t room = INT64_MAX - displacement - tile->hi;
    int64_t by_displacement = room < 0 ? 0 : room / extent + 1;

    return vs_min(by_displacement, INT64_MAX / tile->size);
}

/* Builds a map in the order of the tile's bytes. */
static int build(struct vs_arena *arena, int64_t displacement, int64_t extent, int64_t tiles,
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

/* Builds an ordered map, with as many tiles as both the file and the memory can have. */
static int build_ordered(struct vs_arena *arena, int64_t displacement, const struct vs_tile *from,
                         const struct vs_map **result)
{
    struct vs_map *map = vs_arena_alloc(arena, sizeof(*map));
    const struct vs_order *order = &from->order;
    const struct vs_map *ordered = NULL;
    int64_t tiles = vs_min(tiles_below_limit(from->node, displacement, from->extent),
                           tiles_below_limit(order->memory, 0, order->extent));
    int error = map == NULL ? -ENOMEM : tiles < 1 ? -EOVERFLOW : 0;

    tiles = vs_min(tiles, from->tiles);
    if (!error)
        error = build(arena, displacement, from->extent, tiles, from->node, &map->by_file);
    if (!error)
        error = build(arena, 0, order->extent, tiles, order->memory, &map->memory);
    if (!error)
        error = build(arena, displacement, from->extent, tiles, order->file, &ordered);
    if (error)
        return error;
    map->facts = map->by_file->facts;
    map->root = ordered->root;
    map->tile = from->node;
    map->order = order;
    map->facts.tiles = from->tiles;
    map->facts.tile_runs = ordered->facts.tile_runs;
    map->facts.monotonic = ordered->facts.monotonic;
    *result = map;
    return 0;
}

int vs_map_build(struct vs_arena *arena, int64_t displacement, const struct vs_tile *tile,
                 const struct vs_map **map)
{
    return tile->ordered && tile->tiles
               ? build_ordered(arena, displacement, tile, map)
               : build(arena, displacement, tile->extent, tile->tiles, tile->node, map);
}

const struct vs_map_facts *vs_map_facts(const struct vs_map *map)
{
    return &map->facts;
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

/* Converts a position in the file's order to a position in the map's order. */
static int64_t ordered_position(const struct vs_map *map, int64_t position)
{
    const struct vs_order *order = map->order;
    int64_t etypes = map->facts.tile_size / order->etype_file, etype = position / order->etype_file;
    int64_t origin = etype / etypes * order->extent + vs_node_seek(order->places, etype % etypes);
    int64_t before = vs_map_lower_bound(map->memory, origin) / order->etype_memory;

    return before * order->etype_file + position % order->etype_file;
}

int64_t vs_map_find_within(const struct vs_map *map, int64_t displacement, int64_t *steps)
{
    if (map->by_file) {
        int64_t position = vs_map_find_within(map->by_file, displacement, steps);
        return position < 0 ? position : ordered_position(map, position);
    }
    return map->root ? vs_node_find(map->root, displacement, steps) : -1;
}
