/* SPDX-License-Identifier: MIT */
#include "build.h"

#include <errno.h>
#include <string.h>

#include "viewspec/base/integer.h"
#include "viewspec/text/json.h"

/* Etypes and filetypes, and the layout of a view's slice. */

#define MAX_NESTING 64 /* names of names */

/* Follows the names of named types and returns the definition of a TYPE. */
static json_t *definition_of(const struct vs_builder *b, json_t *json)
{
    for (int i = 0; i < MAX_NESTING && json_is_string(json); i++) {
        json_t *definition = json_object_get(b->types, json_string_value(json));
        if (definition == NULL)
            break;
        json = definition;
    }
    return json;
}

struct vs_type vs_build_etype(struct vs_builder *b, const struct vs_member *etype)
{
    const struct vs_cut *cut = b->cut;
    struct vs_type whole, type;

    if (etype->value)
        whole = vs_build_type(b, etype->value, &etype->place);
    else
        whole = vs_type_basic(b->arena, vs_basic_find("byte"), b->representation);
    if (b->scope->error->code || cut == NULL || cut->basic == NULL)
        return whole;
    type = vs_type_basic(b->arena, cut->basic, b->representation);
    type = vs_type_indexed(b->arena, cut->blocks, cut->lengths, 0, cut->displacements, 1, &type);
    return vs_type_resized(b->arena, whole.lb, vs_type_extent(b->arena, &whole), &type);
}

struct vs_type vs_build_of_units(struct vs_builder *b, const struct vs_type *unit,
                                 const struct vs_member *etype, const struct vs_member *member)
{
    struct vs_type type = *unit;

    b->etype = unit;
    b->etype_json = definition_of(b, etype->value);
    if (member->value)
        type = vs_build_type(b, member->value, &member->place);
    b->etype = NULL;
    return type;
}

/*
 * Returns an etype of one byte at the origin. Types are built from it a second time to find the
 * origins of their etypes.
 */
static struct vs_type origins_of(struct vs_arena *arena, const struct vs_type *etype)
{
    struct vs_type origin = vs_type_unit(arena, etype);
    origin.node = vs_node_run(arena, 1);
    return origin;
}

/* Records the failure of the arena or the scope, if there is one. Returns its code or 0. */
static int check_buftype(const struct vs_buftype_source *from, const struct vs_place *place)
{
    struct vs_error *error = from->source->scope->error;
    return error->code ? error->code
                       : vs_check_arena(from->arena, error, from->source->text, place);
}

#define fail(from, place, ...) vs_build_fail((from)->source, (place), __VA_ARGS__)

static struct vs_builder builder_of(const struct vs_buftype_source *from, const char *whole,
                                    const struct vs_representation *representation)
{
    return (struct vs_builder){
        .arena = from->arena,
        .scope = from->source->scope,
        .text = from->source->text,
        .types = from->source->types,
        .representation = representation,
        .whole = whole,
        .cut = from->source->cut,
    };
}

/*
 * Returns a common divisor of the positions and lengths of an etype's elements in memory. For an
 * etype with inner gaps whose elements are of several basic types, it is 1.
 */
static int64_t grain_of(const struct vs_type *etype)
{
    const struct vs_node *node = etype->node;

    if (node->disjoint && node->hi - node->lo == node->size)
        return vs_gcd(node->lo, node->size);
    return etype->elements.basic
               ? vs_gcd(vs_gcd(node->starts.first, node->starts.grain), etype->elements.native)
               : 1;
}

/* Builds the etype with its layout in memory, and finds its grain. */
static int build_etype(const struct vs_buftype_source *from, struct vs_type *etype, int64_t *grain)
{
    struct vs_builder b = builder_of(from, "etype", vs_representation_native());
    *etype = vs_build_etype(&b, from->etype);
    vs_builder_free(&b);
    if (check_buftype(from, &from->etype->place))
        return from->source->scope->error->code;
    if (!etype->node->disjoint)
        return fail(from, &from->etype->place, "the etype overlaps itself in memory");
    *grain = grain_of(etype);
    etype->node = vs_node_unit(from->arena, etype->node);
    return check_buftype(from, &from->etype->place);
}

/* Finds the places of the etypes of a type, whose etypes have the extent of `etype`. */
static int build_origins(const struct vs_buftype_source *from, const char *whole,
                         const struct vs_representation *representation,
                         const struct vs_member *member, const struct vs_type *etype,
                         struct vs_type *type)
{
    struct vs_builder b = builder_of(from, whole, representation);
    struct vs_type unit = origins_of(from->arena, etype);

    *type = vs_build_of_units(&b, &unit, from->etype, member);
    vs_builder_free(&b);
    return check_buftype(from, &member->place);
}

static int64_t size_of(const struct vs_node *node)
{
    return node ? node->size : 0;
}

static int64_t end_in_memory(const struct vs_both *both)
{
    return both->memory->hi - 1 + both->memory_etype->hi;
}

/* Unites all tiles to one if they lie in each other's gaps in memory. */
static int unite_tiles(const struct vs_buftype_source *from, struct vs_tile *tile,
                       struct vs_both *both)
{
    int64_t span = end_in_memory(both) - both->memory->lo - both->memory_etype->lo;
    struct vs_arena *arena = from->arena;

    if (tile->tiles <= 1)
        tile->order.extent = vs_max(tile->order.extent, end_in_memory(both));
    if (tile->order.extent >= span || tile->tiles <= 1)
        return 0;
    if (tile->tiles == INT64_MAX)
        return fail(from, &from->buftype->place,
                    "tiles lie %lld bytes apart in memory and reach over %lld: \"tiles\" must say "
                    "how many there are",
                    (long long)tile->order.extent, (long long)span);
    both->file = vs_node_loop(arena, tile->tiles, tile->extent, both->file);
    both->memory = vs_node_loop(arena, tile->tiles, tile->order.extent, both->memory);
    tile->node = vs_node_loop(arena, tile->tiles, tile->extent, tile->node);
    tile->extent = vs_mul(arena, tile->tiles, tile->extent);
    tile->order.extent = end_in_memory(both);
    tile->tiles = 1;
    tile->memory = NULL;
    return check_buftype(from, &from->buftype->place);
}

static int find_order(const struct vs_buftype_source *from, const struct vs_place *place,
                      const struct vs_both *both, struct vs_tile *tile)
{
    int64_t extent = tile->order.extent, grain = tile->order.grain;
    int result = vs_order_find(from->arena, both, &tile->order);

    tile->order.extent = extent;
    tile->order.grain = grain;
    tile->ordered = true;
    from->source->scope->work += tile->order.pieces;
    if (result == -EINVAL)
        return fail(from, place, "etypes overlap or interleave in memory");
    if (result == -E2BIG)
        return fail(from, place,
                    "the order in memory is too irregular: it takes more than %lld "
                    "pieces",
                    (long long)VS_PIECES_MAX);
    if (result == -ENOMEM)
        return vs_fail_memory(from->source->scope->error, from->source->text);
    return check_buftype(from, place);
}

/*
 * Returns the array that a buftype forms in memory, or NULL if it has other gaps than the array's.
 */
static const struct vs_array *array_in_memory(struct vs_arena *arena, const struct vs_type *type,
                                              int64_t etype_size)
{
    const struct vs_array *array = type->array;
    struct vs_array *whole = array ? vs_arena_alloc(arena, sizeof(*whole)) : NULL;

    if (whole == NULL || array->element != vs_mul(arena, array->etypes, etype_size))
        return NULL;
    *whole = *array;
    whole->owned = array->sizes;
    return whole;
}

static int find_buftype(const struct vs_buftype_source *from, struct vs_tile *tile)
{
    struct vs_type etype, file, memory;
    const struct vs_place *place = &from->buftype->place;
    int64_t grain = 1;
    int error;
    struct vs_both both;
    int64_t first;

    if ((error = build_etype(from, &etype, &grain)) ||
        (error = build_origins(from, "filetype", from->representation, from->filetype,
                               from->file_etype, &file)) ||
        (error = build_origins(from, "buftype", vs_representation_native(), from->buftype, &etype,
                               &memory)))
        return error;
    if (!file.node)
        return 0;
    if (size_of(file.node) != size_of(memory.node))
        return fail(from, place, "the buftype has %lld etypes, the filetype %lld",
                    (long long)size_of(memory.node), (long long)size_of(file.node));
    both = (struct vs_both){file.node, memory.node, from->file_etype->node, etype.node};
    both.file_etype = vs_node_unit(from->arena, both.file_etype);
    tile->order.extent = vs_type_extent(from->arena, &memory);
    tile->memory = array_in_memory(from->arena, &memory, etype.node->size);
    if ((error = check_buftype(from, place)) || (error = unite_tiles(from, tile, &both)))
        return error;
    first = both.memory->lo + etype.node->lo;
    if (first < 0)
        return fail(from, place, "the slice has data at offset %lld: none may be negative",
                    (long long)first);
    grain = vs_gcd(grain, vs_gcd(both.memory->starts.first, both.memory->starts.grain));
    tile->order.grain = vs_gcd(grain, tile->order.extent);
    return find_order(from, place, &both, tile);
}

/* Returns the rank's part as an array of its own, in C or Fortran order. */
static const struct vs_array *local_array(struct vs_arena *arena, const struct vs_array *part,
                                          bool fortran)
{
    struct vs_array *local = vs_arena_alloc(arena, sizeof(*local));
    if (local) {
        *local = *part;
        local->sizes = part->owned;
        local->fortran = fortran;
    }
    return local;
}

/* Makes loops in the file's order over an array that is packed in the other order. */
static const struct vs_node *transposed(const struct vs_buftype_source *from,
                                        const struct vs_array *part, int64_t etype_size,
                                        int64_t *extent)
{
    struct vs_arena *arena = from->arena;
    int64_t n = part->dimensions, *strides = vs_arena_array(arena, n, sizeof(*strides));
    const struct vs_node *node =
        vs_node_loop(arena, part->etypes, etype_size, vs_node_run(arena, 1));

    *extent = vs_mul(arena, part->etypes, etype_size);
    for (int64_t d = 0; strides && d < n; d++) {
        int64_t dimension = part->fortran ? n - 1 - d : d;
        strides[dimension] = *extent;
        *extent = vs_mul(arena, *extent, part->owned[dimension]);
    }
    for (int64_t d = 0; strides && d < n; d++) {
        int64_t dimension = part->fortran ? d : n - 1 - d;
        node = vs_node_loop(arena, part->owned[dimension], strides[dimension], node);
    }
    return node;
}

static int find_memory(const struct vs_buftype_source *from, struct vs_tile *tile)
{
    const struct vs_array *part = from->file_type->part;
    const char *word = json_string_value(from->memory->value);
    struct vs_arena *arena = from->arena;
    int64_t etype_size = from->file_etype->elements.count * from->file_etype->elements.native;
    struct vs_type file;
    bool fortran;
    struct vs_both both;
    int error;

    if (word == NULL || (strcmp(word, "C") != 0 && strcmp(word, "Fortran") != 0))
        return fail(from, &from->memory->place, "expected \"C\" or \"Fortran\", got %s%.100s%s",
                    word ? "\"" : "", word ? word : vs_kind_name(from->memory->value),
                    word ? "\"" : "");
    if (part == NULL)
        return fail(from, &from->memory->place,
                    "\"memory\" needs a filetype that is a subarray or a darray");
    fortran = strcmp(word, "Fortran") == 0;
    tile->memory = local_array(arena, part, fortran);
    if (fortran == part->fortran || !from->file_type->node)
        return check_buftype(from, &from->memory->place);
    if (build_origins(from, "filetype", from->representation, from->filetype, from->file_etype,
                      &file))
        return from->source->scope->error->code;
    both = (struct vs_both){
        .file = file.node,
        .memory = transposed(from, part, etype_size, &tile->order.extent),
        .file_etype = vs_node_unit(arena, from->file_etype->node),
        .memory_etype = vs_node_run(arena, etype_size),
    };
    error = check_buftype(from, &from->memory->place);
    return error ? error : find_order(from, &from->memory->place, &both, tile);
}

int vs_buftype_find(const struct vs_buftype_source *from, struct vs_tile *tile)
{
    if (from->buftype->value && from->memory->value)
        return fail(from, &from->memory->place, "\"memory\" stands beside a \"buftype\"");
    if (from->memory->value)
        return find_memory(from, tile);
    return from->buftype->value ? find_buftype(from, tile) : 0;
}

/* Fails if an array of `product` elements is not a tile of the slice. */
static int check_shape(const struct vs_source *source, const struct vs_place *place,
                       const struct vs_slice_tile *tile, int64_t product)
{
    const struct vs_order *order = tile->order;
    int64_t size = tile->facts->etype_size, etypes = order ? order->extent / size : tile->etypes;

    if (order && order->grain % size)
        return vs_build_fail(
            source, place,
            "a tile of the slice, %lld bytes with its gaps, is not an array of etypes "
            "of %lld bytes (leave out \"shape\")",
            (long long)order->extent, (long long)size);
    if (product == etypes)
        return 0;
    return vs_build_fail(source, place,
                         order ? "the array has %lld elements, a tile of the slice has "
                                 "%lld with its gaps"
                               : "the array has %lld elements, a tile has %lld etypes",
                         (long long)product, (long long)etypes);
}

int vs_local_array(const struct vs_source *source, json_t *value, const struct vs_place *place,
                   struct vs_arena *arena, const struct vs_slice_tile *tile,
                   const struct vs_array **result)
{
    struct vs_error *error = source->scope->error;
    int64_t dimensions, product = 1, *sizes;
    struct vs_array *array;

    if (!json_is_array(value))
        return vs_build_fail(source, place, "expected an array, got %s", vs_kind_name(value));
    dimensions = (int64_t)json_array_size(value);
    sizes = vs_arena_array(arena, dimensions, sizeof(*sizes));
    array = vs_arena_alloc(arena, sizeof(*array));
    if (sizes == NULL || array == NULL)
        return vs_fail_memory(error, source->text);
    for (int64_t i = 0; i < dimensions; i++) {
        struct vs_place entry = {.up = place, .index = (size_t)i};
        json_t *size = json_array_get(value, (size_t)i);
        if (vs_scope_integer(source->scope, source->text, &entry, size, &sizes[i]))
            return error->code;
        if (sizes[i] < 0)
            return vs_build_fail(source, &entry, "must not be negative");
        if (__builtin_mul_overflow(product, sizes[i], &product))
            return vs_build_fail(source, place, "the array has more than 2^63-1 elements");
    }
    if (check_shape(source, place, tile, product))
        return error->code;
    *array = (struct vs_array){.dimensions = dimensions,
                               .sizes = sizes,
                               .owned = sizes,
                               .element = tile->facts->etype_extent,
                               .etypes = 1};
    *result = array;
    return 0;
}
