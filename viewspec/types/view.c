/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view.h"
#include "build.h"
#include "viewspec/base/integer.h"
#include "viewspec/text/json.h"

/* By VS_ETYPE and so on. */
static const char *const type_keys[] = {"etype", "filetype", "datarep",
                                        "tiles", "buftype",  "memory"};

struct vs_view {
    atomic_int references;
    struct vs_arena arena;
    struct vs_types *types;
    const struct vs_map *map;
    const struct vs_map *gaps; /* NULL: the slice has none */
    struct vs_view_facts facts;
};

static struct vs_types *types_ref(struct vs_types *types)
{
    atomic_fetch_add_explicit(&types->references, 1, memory_order_relaxed);
    return types;
}

void vs_types_unref(struct vs_types *types)
{
    if (types == NULL ||
        atomic_fetch_sub_explicit(&types->references, 1, memory_order_acq_rel) != 1)
        return;
    vs_representation_unref(types->representation);
    vs_arena_free(&types->arena);
    for (int i = 0; i < VS_TYPE_KEYS; i++)
        json_decref(types->json[i]);
    free(types);
}

struct vs_view *vs_view_ref(struct vs_view *view)
{
    atomic_fetch_add_explicit(&view->references, 1, memory_order_relaxed);
    return view;
}

void vs_view_unref(struct vs_view *view)
{
    if (view == NULL || atomic_fetch_sub_explicit(&view->references, 1, memory_order_acq_rel) != 1)
        return;
    vs_types_unref(view->types);
    vs_arena_free(&view->arena);
    free(view);
}

const struct vs_view_facts *vs_view_facts(const struct vs_view *view)
{
    return &view->facts;
}

const struct vs_map *vs_view_map(const struct vs_view *view)
{
    return view->map;
}

const struct vs_type *vs_view_etype(const struct vs_view *view)
{
    return &view->types->etype;
}

const struct vs_type *vs_view_filetype(const struct vs_view *view)
{
    return &view->types->filetype;
}

static void find_member(const struct vs_source *source, const char *key, struct vs_member *member)
{
    json_t *list = json_object_get(source->view, "per_rank");
    size_t rank = (size_t)source->scope->rank;
    json_t *value = json_object_get(json_array_get(list, rank), key);
    member->place = (struct vs_place){.up = source->place, .key = key};
    if (value) {
        member->list = (struct vs_place){.up = source->place, .key = "per_rank"};
        member->entry = (struct vs_place){.up = &member->list, .index = rank};
        member->place.up = &member->entry;
    } else {
        value = json_object_get(source->view, key);
    }
    if (value == NULL && source->place)
        member->place = *source->place;
    member->value = value;
}

/* Checks the data and the extent of an etype or filetype, which `what` names. */
static int check_type(const struct vs_builder *b, const struct vs_place *place, const char *what,
                      const struct vs_type *type, int64_t extent)
{
    if (type->node->lo < 0)
        return vs_refuse(b->scope, place,
                         "the %s has data at displacement %lld: none may be "
                         "negative",
                         what, (long long)type->node->lo);
    if (!type->node->monotonic)
        return vs_refuse(b->scope, b->blame ? b->blame : place,
                         "displacements must not decrease (blocks overlap or go back)");
    if (extent < 1)
        return vs_refuse(b->scope, place, "the %s's extent is %lld: it must be positive", what,
                         (long long)extent);
    return 0;
}

static int build_etype(const struct vs_types_source *from, struct vs_builder *b)
{
    const struct vs_member *member = &from->members[VS_ETYPE];
    struct vs_type *type = &from->types->etype;
    int64_t extent;

    *type = vs_build_etype(b, member);
    extent = vs_type_extent(b->arena, type);
    if (vs_types_check(from, &member->place))
        return b->scope->error->code;
    return type->node ? check_type(b, &member->place, "etype", type, extent)
                      : vs_refuse(b->scope, &member->place, "the etype holds no data");
}

/* Builds the filetype, and checks it by MPI 3.1, 13.1.1 and 13.3. */
static int build_filetype(const struct vs_types_source *from, struct vs_builder *b)
{
    const struct vs_type *etype = &from->types->etype;
    const struct vs_place *place = &from->members[VS_FILETYPE].place;
    struct vs_type unit = vs_type_unit(b->arena, etype), *type = &from->types->filetype;
    const struct vs_starts *starts;
    int64_t extent, etype_extent = etype->ub - etype->lb, front;

    b->blame = NULL;
    b->array = b->cut && b->cut->array ? b->cut : NULL;
    *type = vs_build_of_units(b, &unit, &from->members[VS_ETYPE], &from->members[VS_FILETYPE]);
    extent = vs_type_extent(b->arena, type);
    if (vs_types_check(from, place) || !type->node ||
        check_type(b, place, "filetype", type, extent))
        return b->scope->error->code;
    starts = &type->node->starts;
    front = starts->first + etype->lb - type->lb; /* the hole before the first etype */
    if (starts->grain % etype_extent || front % etype_extent || extent % etype_extent)
        return vs_refuse(b->scope, place, "a hole is not a multiple of the etype's extent, %lld",
                         (long long)etype_extent);
    return 0;
}

/* Reads a number that is not negative. `what` names it. An absent one keeps its value. */
static int read_count(const struct vs_source *source, const struct vs_member *member,
                      const char *what, int64_t *count)
{
    if (!member->value)
        return 0;
    if (vs_scope_integer(source->scope, &member->place, member->value, count))
        return source->scope->error->code;
    return *count < 0
               ? vs_refuse(source->scope, &member->place, "the %s is %lld: it must not be negative",
                           what, (long long)*count)
               : 0;
}

/*
 * Builds the tile that the view repeats, and its order in memory. elements: those of a tile of a
 * scatter that was cut, or 0.
 */
static int build_tile(const struct vs_types_source *from, int64_t elements)
{
    const struct vs_source *source = from->source;
    const struct vs_type *filetype = &from->types->filetype;
    struct vs_tile *tile = &from->types->tile;

    tile->node = filetype->node;
    tile->extent = filetype->ub - filetype->lb;
    tile->memory = filetype->part;
    tile->tiles = INT64_MAX;
    if (read_count(source, &from->members[VS_TILES], "number of tiles", &tile->tiles))
        return source->scope->error->code;
    if (elements && !source->cut->count)
        tile->tiles = vs_mul_capped(tile->tiles, elements);
    return source->by_file ? 0 : vs_buftype_find(from);
}

static int build_types(const struct vs_types_source *from)
{
    struct vs_builder b = vs_builder_of(from, "filetype", from->types->representation);
    int error = build_etype(from, &b);
    if (!error)
        error = build_filetype(from, &b);
    vs_builder_free(&b);
    return error ? error : build_tile(from, b.elements);
}

/*
 * Returns the types of the view: the shared ones if they were built from the same JSON. *shareable
 * is set if other ranks may use them.
 */
static struct vs_types *find_types(const struct vs_source *source, bool *shareable)
{
    struct vs_scope *scope = source->scope;
    struct vs_types_source from = {.source = source};
    struct vs_member *members = from.members;
    struct vs_types *types = source->shared;
    bool same = types != NULL;
    bool before;
    int64_t work;

    for (int i = 0; i < VS_TYPE_KEYS; i++) {
        find_member(source, type_keys[i], &members[i]);
        same = same && types->json[i] == members[i].value;
    }
    if (same) {
        *shareable = true;
        return types_ref(types);
    }
    types = calloc(1, sizeof(*types));
    if (types == NULL) {
        vs_refuse_memory(scope);
        return NULL;
    }
    types->references = 1;
    for (int i = 0; i < VS_TYPE_KEYS; i++)
        types->json[i] = json_incref(members[i].value);
    before = scope->uses_rank;
    work = scope->work;
    scope->uses_rank = false;
    types->representation =
        vs_representation_find(source, members[VS_DATAREP].value, &members[VS_DATAREP].place);
    from.types = types;
    if (!types->representation || build_types(&from)) {
        scope->uses_rank |= before;
        vs_types_unref(types);
        return NULL;
    }
    *shareable = !scope->uses_rank;
    scope->uses_rank |= before;
    types->work = scope->work - work;
    scope->work = work;
    return types;
}

/* Returns true if the slice of an ordered map has gaps, also between tiles. */
static bool has_gaps(const struct vs_map *map)
{
    const struct vs_node *memory = map->order ? map->order->memory : NULL;

    return memory &&
           (memory->kind != VS_RUN || memory->lo != 0 || memory->size != map->order->extent);
}

static int build_map(const struct vs_source *source, struct vs_view *view)
{
    struct vs_member disp;
    int64_t displacement = 0;
    int result;

    find_member(source, "disp", &disp);
    if (read_count(source, &disp, "displacement", &displacement))
        return source->scope->error->code;
    result = vs_map_build(&view->arena, displacement, &view->types->tile, &view->map);
    if (!result && has_gaps(view->map))
        view->gaps = view->map->memory;
    if (result == -E2BIG)
        return vs_refuse(source->scope, source->place, "the view nests too deep");
    if (result == -EOVERFLOW)
        return vs_refuse(source->scope, source->place,
                         "the first tile exceeds displacement 2^63-1");
    return result ? vs_refuse_memory(source->scope) : 0;
}

static void fill_facts(const struct vs_source *source, struct vs_view *view)
{
    const struct vs_types *types = view->types;
    const struct vs_repeat *elements = &types->etype.elements;
    view->facts = (struct vs_view_facts){
        .datarep = types->representation->datarep,
        .datarep_name = types->representation->name,
        .user = types->representation->user,
        .etype_size = elements->count * elements->native,
        .etype_file_size = types->etype.node->size,
        .etype_extent = types->etype.ub - types->etype.lb,
        .identical = types->etype.identical,
        .basic = elements->basic,
        .array = types->filetype.array,
        .memory = types->tile.memory,
        .work = source->scope->work + types->work,
    };
}

/* Reads the array that "shape" makes of a tile of the slice. Ignores it in the file's order. */
static int read_shape(const struct vs_source *source, struct vs_view *view)
{
    int64_t etypes = vs_map_facts(view->map)->tile_size / view->facts.etype_file_size;
    struct vs_member shape;

    find_member(source, "shape", &shape);
    return !shape.value || source->by_file
               ? 0
               : vs_local_array(source->scope, &shape, &view->arena, &view->facts, etypes,
                                view->gaps ? view->map->order : NULL, &view->facts.memory);
}

static char *type_text(const json_t *json)
{
    const char *name = json_string_value(json);
    return name ? strdup(name) : json_dumps(json, JSON_COMPACT);
}

char *vs_view_etype_text(const struct vs_view *view)
{
    const json_t *json = view->types->json[VS_ETYPE];
    return json ? type_text(json) : strdup("byte");
}

char *vs_view_filetype_text(const struct vs_view *view)
{
    const json_t *json = view->types->json[VS_FILETYPE];
    return json ? type_text(json) : vs_view_etype_text(view);
}

bool vs_view_has_order(const struct vs_view *view)
{
    return view->map->order;
}

char *vs_view_order_text(const struct vs_view *view)
{
    const json_t *buftype = view->types->json[VS_BUFTYPE];
    const char *word = json_string_value(view->types->json[VS_MEMORY]);
    char *text = NULL;
    if (buftype)
        return type_text(buftype);
    if (word && asprintf(&text, "%s order", word) < 0)
        return NULL;
    return word ? text : strdup("");
}

const struct vs_map *vs_view_gaps(const struct vs_view *view)
{
    return view->gaps;
}

int vs_view_compile(const struct vs_source *source, struct vs_view **result,
                    struct vs_types **shared)
{
    bool shareable = false;
    struct vs_types *types;
    struct vs_view *view;
    int error;

    if (shared)
        *shared = NULL;
    types = find_types(source, &shareable);
    if (types == NULL)
        return source->scope->error->code;
    view = calloc(1, sizeof(*view));
    if (view == NULL) {
        vs_types_unref(types);
        return vs_refuse_memory(source->scope);
    }
    view->references = 1;
    view->types = types;
    error = build_map(source, view);
    if (!error) {
        fill_facts(source, view);
        error = read_shape(source, view);
    }
    if (error) {
        vs_view_unref(view);
        return error;
    }
    *result = view;
    if (shared && shareable)
        *shared = types_ref(types);
    return 0;
}

/*
 * Returns how many positions of a tile belong to etypes before the first one that ends beyond room.
 */
static int64_t positions_in_tile(const struct vs_node *tile, const struct vs_node *etype,
                                 int64_t room)
{
    int64_t late = room - etype->hi + vs_node_seek(etype, 0) + 1;
    if (tile->disjoint) {
        int64_t position = vs_node_lower_bound(tile, late);
        return (position + etype->size - 1) / etype->size * etype->size;
    }
    return etype->size *
           VS_FIRST(i, 0, tile->size / etype->size, vs_node_seek(tile, i * etype->size) >= late);
}

/*
 * Returns the same in the slice's order: the positions before the first etype that ends beyond
 * room.
 */
static int64_t ordered_in_tile(const struct vs_order *order, const struct vs_node *etype,
                               int64_t room)
{
    return vs_node_lower_bound(order->origins, room - etype->hi + 1) * etype->size;
}

int64_t vs_view_positions(const struct vs_view *view, int64_t file_size)
{
    const struct vs_map_facts *facts = vs_map_facts(view->map);
    const struct vs_node *tile = view->map->tile;
    const struct vs_order *order = view->map->order;
    int64_t room, tiles, rest;

    if (tile == NULL || file_size < facts->first)
        return 0;
    room = file_size - facts->displacement;
    tiles = room < tile->hi ? 0 : (room - tile->hi) / facts->tile_extent + 1;
    if (tiles >= facts->limit / facts->tile_size)
        return facts->limit;
    rest = room - tiles * facts->tile_extent;
    return tiles * facts->tile_size +
           (order ? ordered_in_tile(order, view->types->etype.node, rest)
                  : positions_in_tile(tile, view->types->etype.node, rest));
}

int64_t vs_view_packed_size(const struct vs_view *view, int64_t file_size)
{
    int64_t etypes = vs_view_positions(view, file_size) / view->facts.etype_file_size;
    int64_t size;
    return __builtin_mul_overflow(etypes, view->facts.etype_size, &size) ? -EFBIG : size;
}

int64_t vs_view_slice_size(const struct vs_view *view, int64_t file_size)
{
    int64_t size = vs_view_packed_size(view, file_size);
    return size < 0 ? size : vs_view_end(view, size);
}

int64_t vs_view_end(const struct vs_view *view, int64_t packed)
{
    int64_t size, end;

    if (!view->gaps || packed == 0)
        return packed;
    size = vs_map_facts(view->gaps)->tile_size;
    end = vs_map_displacement(view->gaps, packed - 1) + 1;
    /* A complete tile ends where the next one begins. */
    return packed % size
               ? end
               : vs_max(end, vs_mul_capped(packed / size, view->types->tile.order.extent));
}

int64_t vs_view_offset(const struct vs_view *view, int64_t packed)
{
    return view->gaps ? vs_map_displacement(view->gaps, packed) : packed;
}

int64_t vs_view_packed(const struct vs_view *view, int64_t offset)
{
    return view->gaps ? vs_map_lower_bound(view->gaps, offset) : offset;
}
