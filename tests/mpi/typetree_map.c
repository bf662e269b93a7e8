/* SPDX-License-Identifier: MIT */
#include "typetree.h"

#include <string.h>

/*
 * The naive expansion. Each constructor follows its definition in the standard (MPI 3.1, 4.1.2 to
 * 4.1.7, and 4.1.3 for arrays), one basic type at a time.
 */

int tt_basic_size(const struct tt_env *env, int basic)
{
    return env->external ? tt_basics[basic].external : tt_basics[basic].size;
}

static void push(struct tt_pool *pool, struct tt_map *map, int64_t displ, int basic)
{
    if (map->count == TT_MAX_ENTRIES) {
        map->too_big = true;
        return;
    }
    if (map->count == map->room) {
        int room = map->room ? map->room * 4 : 16;
        struct tt_entry *entries = tt_alloc(pool, (size_t)room * sizeof(*entries));
        if (map->count > 0)
            memcpy(entries, map->entries, (size_t)map->count * sizeof(*entries));
        map->entries = entries;
        map->room = room;
    }
    map->entries[map->count++] = (struct tt_entry){displ, basic};
}

/* Updates a typemap's bounds. If there are lb and ub markers, only those count (MPI 3.1, 4.1.6). */
static void bound(struct tt_map *map, const struct tt_map *child, int64_t displ)
{
    if (!child->bounded)
        return;
    if (child->align > map->align)
        map->align = child->align;
    if (map->bounded && map->marked && !child->marked)
        return;
    if (!map->bounded || (child->marked && !map->marked)) {
        map->lb = child->lb + displ;
        map->ub = child->ub + displ;
        map->marked = child->marked;
        map->bounded = true;
        return;
    }
    if (child->lb + displ < map->lb)
        map->lb = child->lb + displ;
    if (child->ub + displ > map->ub)
        map->ub = child->ub + displ;
}

static void place(struct tt_pool *pool, struct tt_map *map, const struct tt_map *child,
                  int64_t displ)
{
    for (int i = 0; i < child->count && !map->too_big; i++)
        push(pool, map, child->entries[i].displ + displ, child->entries[i].basic);
    if (child->too_big)
        map->too_big = true;
    bound(map, child, displ);
}

static void place_block(struct tt_pool *pool, struct tt_map *map, const struct tt_map *child,
                        int64_t length, int64_t displ)
{
    for (int64_t i = 0; i < length && !map->too_big; i++)
        place(pool, map, child, displ + i * tt_extent(child));
}

static void mark(struct tt_map *map, int64_t lb, int64_t extent)
{
    map->bounded = true;
    map->marked = true;
    map->lb = lb;
    map->ub = lb + extent;
}

static void expand_blocks(struct tt_pool *pool, const struct tt_type *type,
                          const struct tt_env *env, const struct tt_map *child, struct tt_map *map)
{
    bool in_bytes = type->kind == TT_HINDEXED || type->kind == TT_HINDEXED_BLOCK;

    for (int i = 0; i < type->n; i++) {
        int64_t length = tt_value(type->lengths ? type->lengths[i] : type->length, env->rank);
        int64_t displ = tt_value(type->displs[i], env->rank);
        place_block(pool, map, child, length, in_bytes ? displ : displ * tt_extent(child));
    }
}

static void expand_struct(struct tt_pool *pool, const struct tt_type *type,
                          const struct tt_env *env, struct tt_map *map)
{
    for (int i = 0; i < type->n; i++) {
        struct tt_map child;
        tt_expand(pool, type->types[i], env, &child);
        place_block(pool, map, &child, tt_value(type->lengths[i], env->rank),
                    tt_value(type->displs[i], env->rank));
    }
    if (map->bounded && !map->marked) {
        int64_t rest = tt_extent(map) % map->align;
        map->ub += rest ? map->align - rest : 0;
    }
}

/* Returns true if the rank's coordinate owns global index i of a dimension (MPI 3.1, 4.1.4). */
static bool owns(const struct tt_type *type, int dim, int coordinate, int64_t size, int64_t i)
{
    int64_t parts = type->psizes[dim], block = type->dargs[dim];

    switch (type->distribs[dim]) {
    case TT_BLOCK:
        block = block ? block : (size + parts - 1) / parts;
        return i / block == coordinate;
    case TT_CYCLIC:
        block = block ? block : 1;
        return i / block % parts == coordinate;
    default:
        return true;
    }
}

/*
 * Expands a subarray or darray: walks the global array in storage order, and keeps the elements
 * that the rank selects.
 */
static void expand_array(struct tt_pool *pool, const struct tt_type *type, const struct tt_env *env,
                         const struct tt_map *child, struct tt_map *map)
{
    int64_t size[TT_MAX_DIMS], total = 1;
    int coordinate[TT_MAX_DIMS] = {0}, rest = env->rank;

    for (int d = type->dims - 1; d >= 0; d--) {
        size[d] = tt_value(type->sizes[d], env->rank);
        total *= size[d];
        /* ranks are in row-major order, whatever the array's order is */
        if (type->kind == TT_DARRAY) {
            coordinate[d] = rest % type->psizes[d];
            rest /= type->psizes[d];
        }
    }
    for (int64_t e = 0; e < total; e++) {
        int64_t left = e;
        bool mine = true;
        for (int k = 0; k < type->dims; k++) {
            int d = type->fortran ? k : type->dims - 1 - k;
            int64_t i = left % size[d];
            left /= size[d];
            if (type->kind == TT_DARRAY) {
                mine = mine && owns(type, d, coordinate[d], size[d], i);
            } else {
                int64_t start = tt_value(type->starts[d], env->rank);
                mine = mine && i >= start && i < start + tt_value(type->subsizes[d], env->rank);
            }
        }
        if (mine)
            place(pool, map, child, e * tt_extent(child));
    }
    mark(map, 0, total * tt_extent(child));
}

/* Expands a 1995 constructor by the elements that it deals to rank. */
static void expand_dealt(struct tt_pool *pool, const struct tt_type *type, const struct tt_env *env,
                         const struct tt_map *child, struct tt_map *map)
{
    int64_t size = tt_value(type->size, env->rank), length = tt_value(type->length, env->rank);

    if (type->kind == TT_SCATTER)
        size = length * env->ranks;
    else if (type->kind == TT_HPF_BLOCK)
        length = (size + env->ranks - 1) / env->ranks;
    for (int64_t i = 0; i < size; i++)
        if (i / length % env->ranks == env->rank)
            place(pool, map, child, i * tt_extent(child));
    mark(map, 0, size * tt_extent(child));
}

static void expand_basic(struct tt_pool *pool, const struct tt_type *type, const struct tt_env *env,
                         struct tt_map *map)
{
    map->bounded = true;
    map->ub = tt_basic_size(env, type->basic);
    map->align = env->external ? 1 : tt_basics[type->basic].align;
    push(pool, map, 0, type->basic);
}

static void expand_unit(struct tt_pool *pool, const struct tt_env *env, struct tt_map *map)
{
    map->bounded = env->etype_map->bounded;
    map->marked = env->etype_map->marked;
    map->lb = env->etype_map->lb;
    map->ub = env->etype_map->ub;
    map->align = env->etype_map->align;
    push(pool, map, 0, TT_UNIT);
}

/* Returns true if a leaf of a filetype stands for the etype: by word, by name, by the basic
   type's name or by text. */
static bool is_unit(const struct tt_type *type, const struct tt_env *env)
{
    const struct tt_type *etype = env->etype;

    if (etype == NULL)
        return false;
    if (type->kind == TT_ETYPE)
        return !type->old || type->old == etype;
    if (type->kind == TT_NAMED)
        return etype->kind == TT_NAMED && etype->old == type->old;
    return type->kind == TT_BASIC && etype->kind == TT_BASIC &&
           tt_is_same_basic(type->basic, etype->basic);
}

static void expand_old(struct tt_pool *pool, const struct tt_type *type, const struct tt_env *env,
                       const struct tt_map *child, struct tt_map *map)
{
    int64_t count = tt_value(type->count, env->rank);
    int64_t stride = tt_value(type->stride, env->rank);

    switch (type->kind) {
    case TT_CONTIGUOUS:
        place_block(pool, map, child, count, 0);
        break;
    case TT_VECTOR:
        stride *= tt_extent(child);
        /* fall through */
    case TT_HVECTOR:
        for (int64_t i = 0; i < count; i++)
            place_block(pool, map, child, tt_value(type->length, env->rank), i * stride);
        break;
    case TT_INDEXED:
    case TT_HINDEXED:
    case TT_INDEXED_BLOCK:
    case TT_HINDEXED_BLOCK:
        expand_blocks(pool, type, env, child, map);
        break;
    case TT_SUBARRAY:
    case TT_DARRAY:
        expand_array(pool, type, env, child, map);
        break;
    case TT_SCATTER:
    case TT_HPF_BLOCK:
    case TT_HPF_CYCLIC:
        expand_dealt(pool, type, env, child, map);
        break;
    case TT_RESIZED:
        place(pool, map, child, 0);
        mark(map, tt_value(type->lb, env->rank), tt_value(type->extent, env->rank));
        break;
    default: /* a name, dup or broadcast: the same type */
        place(pool, map, child, 0);
        break;
    }
}

void tt_expand(struct tt_pool *pool, const struct tt_type *type, const struct tt_env *env,
               struct tt_map *map)
{
    struct tt_map child;

    *map = (struct tt_map){.align = 1};
    if (is_unit(type, env)) {
        expand_unit(pool, env, map);
        return;
    }
    if (type->kind == TT_BASIC) {
        expand_basic(pool, type, env, map);
        return;
    }
    if (type->kind == TT_STRUCT) {
        expand_struct(pool, type, env, map);
        return;
    }
    tt_expand(pool, type->old, env, &child);
    expand_old(pool, type, env, &child, map);
}
