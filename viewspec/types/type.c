/* SPDX-License-Identifier: MIT */
#include "type.h"

#include <stdbool.h>

int64_t vs_dealing_rank(const struct vs_dealing *dealing, int64_t offset)
{
    int64_t rank = 0, index = offset / dealing->extent;
    for (int64_t d = 0; d < dealing->dimensions; d++) {
        const struct vs_deal *deal = &dealing->deals[d];
        rank += index % deal->size / deal->length % deal->places * deal->weight;
        index /= deal->size;
    }
    return rank;
}

/* Returns count times old. Both products, count * old in bytes, are checked. */
static struct vs_repeat repeat_times(struct vs_arena *arena, int64_t count,
                                     const struct vs_repeat *old)
{
    struct vs_repeat repeat;

    if (count < 1 || !old->count)
        return (struct vs_repeat){0};
    repeat = *old;
    repeat.count = vs_mul(arena, count, old->count);
    vs_mul(arena, repeat.count, repeat.native);
    vs_mul(arena, repeat.count, repeat.file);
    return repeat;
}

static bool repeat_is_same(const struct vs_repeat *a, const struct vs_repeat *b)
{
    return a->basic == b->basic && a->record == b->record;
}

/* Removes entries of list without data, and merges neighbors. Returns the number that is left. */
static int64_t repeat_merge(struct vs_arena *arena, int64_t count, struct vs_repeat *list)
{
    int64_t n = 0;
    for (int64_t i = 0; i < count; i++)
        if (n && list[i].count && repeat_is_same(&list[n - 1], &list[i]))
            list[n - 1].count = vs_add(arena, list[n - 1].count, list[i].count);
        else if (list[i].count)
            list[n++] = list[i];
    return n;
}

/* Returns the count entries of list in turn. list is in arena, and is overwritten. */
static struct vs_repeat repeat_list(struct vs_arena *arena, int64_t count, struct vs_repeat *list)
{
    struct vs_repeat none = {0};
    int64_t n = repeat_merge(arena, count, list);
    struct vs_record *record;
    int64_t *native, *file;

    if (n < 2)
        return n ? repeat_times(arena, 1, &list[0]) : none;
    record = vs_arena_alloc(arena, sizeof(*record));
    native = vs_arena_array(arena, n + 1, sizeof(*native));
    file = vs_arena_array(arena, n + 1, sizeof(*file));
    if (record == NULL || native == NULL || file == NULL)
        return none;
    for (int64_t i = 0; i < n; i++) {
        native[i + 1] = vs_add(arena, native[i], vs_mul(arena, list[i].count, list[i].native));
        file[i + 1] = vs_add(arena, file[i], vs_mul(arena, list[i].count, list[i].file));
    }
    *record = (struct vs_record){n, list, native, file};
    return (struct vs_repeat){.count = 1, .native = native[n], .file = file[n], .record = record};
}

int64_t vs_type_extent(struct vs_arena *arena, const struct vs_type *type)
{
    return vs_sub(arena, type->ub, type->lb);
}

struct vs_type vs_type_basic(struct vs_arena *arena, const struct vs_basic *basic,
                             const struct vs_representation *representation)
{
    int64_t size = vs_representation_size(representation, basic);
    return (struct vs_type){
        .node = vs_node_run(arena, size),
        .ub = size,
        .align = vs_representation_aligns(representation) ? basic->align : 1,
        .elements = {.count = 1, .native = basic->size, .file = size, .basic = basic},
        .identical = vs_representation_keeps(representation, basic),
    };
}

struct vs_type vs_type_unit(struct vs_arena *arena, const struct vs_type *etype)
{
    struct vs_type unit = *etype;
    unit.node = vs_node_unit(arena, etype->node);
    unit.elements = (struct vs_repeat){0};
    unit.array = NULL;
    unit.part = NULL;
    unit.dealing = NULL;
    return unit;
}

/* The bounds of the parts of a type (MPI 3.1, 4.1.7). */
struct bounds {
    int64_t lb, ub;
    bool any, bounded;
};

/* Adds count instances of type, stride apart, from displacement on. Markers override data. */
static void add_bounds(struct vs_arena *arena, struct bounds *bounds, int64_t displacement,
                       int64_t count, int64_t stride, const struct vs_type *type)
{
    int64_t reach, lb, ub;
    bool replace;

    if (count < 1 || type->empty || (bounds->bounded && !type->bounded))
        return;
    reach = vs_mul(arena, count - 1, stride);
    lb = vs_add(arena, displacement, vs_add(arena, type->lb, reach < 0 ? reach : 0));
    ub = vs_add(arena, displacement, vs_add(arena, type->ub, reach > 0 ? reach : 0));
    replace = !bounds->any || (type->bounded && !bounds->bounded);
    if (replace || lb < bounds->lb)
        bounds->lb = lb;
    if (replace || ub > bounds->ub)
        bounds->ub = ub;
    bounds->any = true;
    bounds->bounded = type->bounded;
}

static struct vs_type with_bounds(const struct vs_type *old, const struct vs_node *node,
                                  const struct bounds *bounds)
{
    return (struct vs_type){
        .node = node,
        .lb = bounds->lb,
        .ub = bounds->ub,
        .bounded = bounds->bounded,
        .empty = !bounds->any,
        .align = bounds->any ? old->align : 1,
        .identical = old->identical,
    };
}

struct vs_type vs_type_vector(struct vs_arena *arena, int64_t count, int64_t length, int64_t stride,
                              const struct vs_type *old)
{
    int64_t extent = vs_type_extent(arena, old);
    struct bounds block = {0}, bounds = {0};
    const struct vs_node *node;
    struct vs_type row, type;

    add_bounds(arena, &block, 0, length, extent, old);
    node = vs_node_loop(arena, count, stride, vs_node_loop(arena, length, extent, old->node));
    row = with_bounds(old, node, &block);
    add_bounds(arena, &bounds, 0, count, stride, &row);
    type = with_bounds(old, node, &bounds);
    if (node)
        type.elements = repeat_times(arena, vs_mul(arena, count, length), &old->elements);
    return type;
}

struct vs_type vs_type_indexed(struct vs_arena *arena, int64_t count, const int64_t *lengths,
                               int64_t length, const int64_t *displacements, int64_t unit,
                               const struct vs_type *old)
{
    int64_t extent = vs_type_extent(arena, old), instances = 0;
    struct bounds bounds = {0};
    const struct vs_node *node;
    struct vs_type type;

    for (int64_t b = 0; b < count && !arena->failure; b++) {
        int64_t n = lengths ? lengths[b] : length;
        add_bounds(arena, &bounds, vs_mul(arena, displacements[b], unit), n, extent, old);
        instances = vs_add(arena, instances, n);
    }
    node = vs_node_blocks(arena, count, lengths, length, displacements, unit, extent, old->node);
    type = with_bounds(old, node, &bounds);
    type.elements = repeat_times(arena, instances, &old->elements);
    return type;
}

/* Rounds the extent up by epsilon (MPI 3.1, 4.1.6), unless a marker sets the bound. */
static void type_pad(struct vs_arena *arena, struct vs_type *type)
{
    int64_t over = vs_type_extent(arena, type) % type->align;
    if (!type->bounded && over)
        type->ub = vs_add(arena, type->ub, type->align - over);
}

struct vs_type vs_type_struct(struct vs_arena *arena, int64_t count, const int64_t *lengths,
                              const int64_t *displacements, const struct vs_type *types)
{
    const struct vs_node **nodes = vs_arena_array(arena, count, sizeof(*nodes));
    struct vs_repeat *elements = vs_arena_array(arena, count, sizeof(*elements));
    struct vs_type parts = {.align = 1, .identical = true}, type;
    struct bounds bounds = {0};
    for (int64_t i = 0; i < count && !arena->failure; i++) {
        const struct vs_type *old = &types[i];
        int64_t extent = vs_type_extent(arena, old);
        nodes[i] = vs_node_shift(arena, vs_node_loop(arena, lengths[i], extent, old->node),
                                 displacements[i]);
        add_bounds(arena, &bounds, displacements[i], lengths[i], extent, old);
        if (!nodes[i])
            continue;
        elements[i] = repeat_times(arena, lengths[i], &old->elements);
        parts.identical = parts.identical && old->identical;
        if (old->align > parts.align)
            parts.align = old->align;
    }
    if (arena->failure)
        return parts;
    type = with_bounds(&parts, vs_node_seq(arena, count, nodes), &bounds);
    type.elements = repeat_list(arena, count, elements);
    type_pad(arena, &type);
    return type;
}

struct vs_type vs_type_resized(struct vs_arena *arena, int64_t lb, int64_t extent,
                               const struct vs_type *old)
{
    struct vs_type type = *old;
    type.lb = lb;
    type.ub = vs_add(arena, lb, extent);
    type.bounded = true;
    type.empty = false;
    type.array = NULL;
    type.dealing = NULL;
    return type;
}

/*
 * Makes the blocks of one dimension: first the complete ones, then the block that the array's edge
 * cuts.
 */
static const struct vs_node *part_node(struct vs_arena *arena, const struct vs_part *part,
                                       int64_t extent, const struct vs_node *inner)
{
    int64_t stride = vs_mul(arena, part->stride, extent);
    int64_t start = vs_mul(arena, part->start, extent);
    const struct vs_node *blocks[2] = {
        vs_node_loop(arena, part->count, stride, vs_node_loop(arena, part->length, extent, inner)),
        vs_node_shift(arena, vs_node_loop(arena, part->rest, extent, inner),
                      vs_mul(arena, part->count, stride)),
    };
    return vs_node_shift(arena, vs_node_seq(arena, 2, blocks), start);
}

struct vs_type vs_type_array(struct vs_arena *arena, int64_t dimensions,
                             const struct vs_part *parts, const struct vs_type *old)
{
    const struct vs_node *node = old->node;
    struct vs_repeat elements = old->elements;
    int64_t extent = vs_type_extent(arena, old);
    struct vs_type type;

    for (int64_t d = 0; d < dimensions && !arena->failure; d++) {
        const struct vs_part *part = &parts[d];
        int64_t owned;

        node = part_node(arena, part, extent, node);
        extent = vs_mul(arena, extent, part->size);
        owned = vs_add(arena, vs_mul(arena, part->count, part->length), part->rest);
        elements = repeat_times(arena, owned, &elements);
    }
    type = *old;
    type.node = node;
    type.elements = elements;
    type.part = NULL;
    return vs_type_resized(arena, 0, extent, &type);
}

struct vs_part vs_part_cyclic(int64_t size, int64_t length, int64_t place, int64_t places)
{
    struct vs_part part = {.size = size, .length = length < size ? length : size};
    int64_t whole = size / part.length, rest = size % part.length;
    part.count = whole > place ? (whole - place - 1) / places + 1 : 0;
    if (whole % places == place)
        part.rest = rest;
    /* Only bytes inside of size count. A block that the place does not own may lie beyond 2^63. */
    if (part.count || part.rest)
        part.start = place * part.length;
    if (part.count > 1 || (part.count && part.rest))
        part.stride = places * part.length;
    return part;
}
