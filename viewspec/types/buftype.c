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

int vs_types_check(const struct vs_types_source *from, const struct vs_place *place)
{
    return vs_check_arena(from->source->scope, &from->types->arena, place);
}

#define fail(from, place, ...) vs_refuse((from)->source->scope, (place), __VA_ARGS__)

struct vs_builder vs_builder_of(const struct vs_types_source *from, const char *whole,
                                const struct vs_representation *representation)
{
    return (struct vs_builder){
        .arena = &from->types->arena,
        .scope = from->source->scope,
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
static int build_etype(const struct vs_types_source *from, struct vs_type *etype, int64_t *grain)
{
    struct vs_builder b = vs_builder_of(from, "etype", vs_representation_native());
    const struct vs_place *place = &from->members[VS_ETYPE].place;

    *etype = vs_build_etype(&b, &from->members[VS_ETYPE]);
    vs_builder_free(&b);
    if (vs_types_check(from, place))
        return b.scope->error->code;
    if (!etype->node->disjoint)
        return fail(from, place, "the etype overlaps itself in memory");
    *grain = grain_of(etype);
    etype->node = vs_node_unit(b.arena, etype->node);
    return vs_types_check(from, place);
}

/* Finds the places of the etypes of the filetype, or of the buftype with the etype in memory. */
static int build_origins(const struct vs_types_source *from, int key, const struct vs_type *etype,
                         struct vs_type *type)
{
    bool memory = key == VS_BUFTYPE;
    struct vs_builder b =
        vs_builder_of(from, memory ? "buftype" : "filetype",
                      memory ? vs_representation_native() : from->types->representation);
    struct vs_type unit = origins_of(b.arena, etype);

    *type = vs_build_of_units(&b, &unit, &from->members[VS_ETYPE], &from->members[key]);
    vs_builder_free(&b);
    return vs_types_check(from, &from->members[key].place);
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
static int unite_tiles(const struct vs_types_source *from, struct vs_both *both)
{
    const struct vs_place *place = &from->members[VS_BUFTYPE].place;
    int64_t span = end_in_memory(both) - both->memory->lo - both->memory_etype->lo;
    struct vs_arena *arena = &from->types->arena;
    struct vs_tile *tile = &from->types->tile;

    if (tile->tiles <= 1)
        tile->order.extent = vs_max(tile->order.extent, end_in_memory(both));
    if (tile->order.extent >= span || tile->tiles <= 1)
        return 0;
    if (tile->tiles == INT64_MAX)
        return fail(from, place,
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
    return vs_types_check(from, place);
}

static int find_order(const struct vs_types_source *from, const struct vs_place *place,
                      const struct vs_both *both)
{
    struct vs_tile *tile = &from->types->tile;
    int result = vs_order_find(&from->types->arena, both, &tile->order);

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
        return vs_refuse_memory(from->source->scope);
    return vs_types_check(from, place);
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

static int find_buftype(const struct vs_types_source *from)
{
    struct vs_type etype, file, memory;
    const struct vs_place *place = &from->members[VS_BUFTYPE].place;
    struct vs_arena *arena = &from->types->arena;
    struct vs_tile *tile = &from->types->tile;
    struct vs_both both;
    int64_t first, grain = 1;
    int error;

    if ((error = build_etype(from, &etype, &grain)) ||
        (error = build_origins(from, VS_FILETYPE, &from->types->etype, &file)) ||
        (error = build_origins(from, VS_BUFTYPE, &etype, &memory)))
        return error;
    if (!file.node)
        return 0;
    if (size_of(file.node) != size_of(memory.node))
        return fail(from, place, "the buftype has %lld etypes, the filetype %lld",
                    (long long)size_of(memory.node), (long long)size_of(file.node));
    both = (struct vs_both){file.node, memory.node, from->types->etype.node, etype.node};
    both.file_etype = vs_node_unit(arena, both.file_etype);
    tile->order.extent = vs_type_extent(arena, &memory);
    tile->memory = array_in_memory(arena, &memory, etype.node->size);
    if ((error = vs_types_check(from, place)) || (error = unite_tiles(from, &both)))
        return error;
    first = both.memory->lo + etype.node->lo;
    if (first < 0)
        return fail(from, place, "the slice has data at offset %lld: none may be negative",
                    (long long)first);
    grain = vs_gcd(grain, vs_gcd(both.memory->starts.first, both.memory->starts.grain));
    tile->order.grain = vs_gcd(grain, tile->order.extent);
    return find_order(from, place, &both);
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
static const struct vs_node *transposed(struct vs_arena *arena, const struct vs_array *part,
                                        int64_t etype_size, int64_t *extent)
{
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

static int find_memory(const struct vs_types_source *from)
{
    const struct vs_member *member = &from->members[VS_MEMORY];
    const char *word = json_string_value(member->value);
    const struct vs_type *etype = &from->types->etype;
    const struct vs_array *part = from->types->filetype.part;
    struct vs_arena *arena = &from->types->arena;
    struct vs_tile *tile = &from->types->tile;
    int64_t etype_size = etype->elements.count * etype->elements.native;
    struct vs_type file;
    bool fortran;
    struct vs_both both;
    int error;

    if (word == NULL || (strcmp(word, "C") != 0 && strcmp(word, "Fortran") != 0))
        return fail(from, &member->place, "expected \"C\" or \"Fortran\", got %s%.100s%s",
                    word ? "\"" : "", word ? word : vs_kind_name(member->value), word ? "\"" : "");
    if (part == NULL)
        return fail(from, &member->place,
                    "\"memory\" needs a filetype that is a subarray or a darray");
    fortran = strcmp(word, "Fortran") == 0;
    tile->memory = local_array(arena, part, fortran);
    if (fortran == part->fortran || !from->types->filetype.node)
        return vs_types_check(from, &member->place);
    if (build_origins(from, VS_FILETYPE, etype, &file))
        return from->source->scope->error->code;
    both = (struct vs_both){
        .file = file.node,
        .memory = transposed(arena, part, etype_size, &tile->order.extent),
        .file_etype = vs_node_unit(arena, etype->node),
        .memory_etype = vs_node_run(arena, etype_size),
    };
    error = vs_types_check(from, &member->place);
    return error ? error : find_order(from, &member->place, &both);
}

int vs_buftype_find(const struct vs_types_source *from)
{
    bool memory = from->members[VS_MEMORY].value != NULL;

    if (from->members[VS_BUFTYPE].value)
        return memory ? fail(from, &from->members[VS_MEMORY].place,
                             "\"memory\" stands beside a \"buftype\"")
                      : find_buftype(from);
    return memory ? find_memory(from) : 0;
}

/* Fails if an array of `product` elements is not a tile of the slice, as vs_local_array has it. */
static int check_shape(struct vs_scope *scope, const struct vs_place *place, int64_t size,
                       int64_t etypes, const struct vs_order *order, int64_t product)
{
    if (order && order->grain % size)
        return vs_refuse(scope, place,
                         "a tile of the slice, %lld bytes with its gaps, is not an array of etypes "
                         "of %lld bytes (leave out \"shape\")",
                         (long long)order->extent, (long long)size);
    etypes = order ? order->extent / size : etypes;
    if (product == etypes)
        return 0;
    return vs_refuse(scope, place,
                     order ? "the array has %lld elements, a tile of the slice has "
                             "%lld with its gaps"
                           : "the array has %lld elements, a tile has %lld etypes",
                     (long long)product, (long long)etypes);
}

int vs_local_array(struct vs_scope *scope, const struct vs_member *shape, struct vs_arena *arena,
                   const struct vs_view_facts *facts, int64_t etypes, const struct vs_order *order,
                   const struct vs_array **result)
{
    const struct vs_place *place = &shape->place;
    int64_t dimensions = (int64_t)json_array_size(shape->value), product = 1;
    int64_t *sizes = vs_arena_array(arena, dimensions, sizeof(*sizes));
    struct vs_array *array = vs_arena_alloc(arena, sizeof(*array));

    if (!json_is_array(shape->value))
        return vs_refuse(scope, place, "expected an array, got %s", vs_kind_name(shape->value));
    if (sizes == NULL || array == NULL)
        return vs_refuse_memory(scope);
    for (int64_t i = 0; i < dimensions; i++) {
        const struct vs_place *entry = VS_ITEM(place, i);

        if (vs_scope_integer(scope, entry, json_array_get(shape->value, (size_t)i), &sizes[i]))
            return scope->error->code;
        if (sizes[i] < 0)
            return vs_refuse(scope, entry, "must not be negative");
        if (__builtin_mul_overflow(product, sizes[i], &product))
            return vs_refuse(scope, place, "the array has more than 2^63-1 elements");
    }
    *array = (struct vs_array){.dimensions = dimensions,
                               .sizes = sizes,
                               .owned = sizes,
                               .element = facts->etype_extent,
                               .etypes = 1};
    *result = array;
    return check_shape(scope, place, facts->etype_size, etypes, order, product);
}
