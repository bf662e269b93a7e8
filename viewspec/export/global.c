/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "global_private.h"
#include "viewspec/map/map_private.h"
#include "viewspec/types/byte_order.h"

/*
 * The global array of a view. The view's JSON is changed so that the filetype is the whole array
 * (or a box of it), and compiled like any other view. All rules of the language thus hold for boxes
 * as well.
 */

/* The most bytes of a record in memory, so that sums with headers do not overflow. */
#define BYTES_MAX ((int64_t)1 << 62)

/* The kinds of filetypes. */
enum kind { SUBARRAY, DARRAY, HPF_BLOCK, HPF_CYCLIC, SCATTER, OTHER };
static const char *const kinds[] = {"subarray", "darray", "hpf_block", "hpf_cyclic", "scatter"};

static enum kind kind_of(const json_t *definition)
{
    int kind = SUBARRAY;

    while (kind < OTHER && strcmp(vs_global_type_of(definition), kinds[kind]) != 0)
        kind++;
    return (enum kind)kind;
}

/* Returns the numbers, or as many zeros if numbers is NULL. */
static json_t *list_of(const int64_t *numbers, int64_t count)
{
    json_t *list = json_array();

    for (int64_t i = 0; list && i < count; i++) {
        if (json_array_append_new(list, json_integer(numbers ? numbers[i] : 0))) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

/*
 * Returns a subarray that has the sizes, order and oldtype of a distributed array: a box, or all of
 * it if counts is NULL. NULL: out of memory.
 */
static json_t *box_type(const struct vs_global *global, json_t *view, const json_t *type,
                        const int64_t *counts, const int64_t *starts)
{
    static const char *const size_keys[] = {"sizes", "gsizes", "size", "size"};
    json_t *sizes = json_object_get(type, size_keys[kind_of(type)]);
    json_t *order = json_object_get(type, "order"), *old = json_object_get(type, "oldtype");
    json_t *etype = json_object_get(view, "etype");
    int64_t n;

    sizes = json_is_array(sizes) ? json_incref(sizes) : json_pack("[O]", sizes);
    n = (int64_t)json_array_size(sizes);
    /* The etype by its own definition would not be found once it is replaced by a field's. */
    if (json_equal(vs_global_definition(global, old), vs_global_definition(global, etype)))
        old = NULL;
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:O*}", "type", "subarray", "subsizes",
                     counts ? list_of(counts, n) : json_incref(sizes), "starts", list_of(starts, n),
                     "sizes", sizes, "order", order ? json_incref(order) : json_string("C"),
                     "oldtype", old);
}

/* Returns the text of an integer or expression; "1" if it is absent. The caller frees it. */
static char *expression(const json_t *value)
{
    if (value == NULL)
        return strdup("1");
    return json_is_string(value) ? strdup(json_string_value(value))
                                 : json_dumps(value, JSON_ENCODE_ANY);
}

/* Makes "tiles" of a scatter count its elements: each rank has a block of them in a tile. */
static int count_elements(json_t *view, const json_t *scatter)
{
    json_t *tiles = json_object_get(view, "tiles");
    char *count = expression(tiles), *text = NULL;
    char *block = expression(json_object_get(scatter, "blocklength"));
    int error = -ENOMEM;

    if (tiles == NULL)
        error = 0;
    else if (count && block && asprintf(&text, "(%s) * (%s) * ranks", count, block) >= 0)
        error = json_object_set_new(view, "tiles", json_string(text)) ? -ENOMEM : 0;
    free(count);
    free(block);
    free(text);
    return error;
}

/*
 * Returns the VIEW of the whole array as a rank's view describes it, or NULL if memory is
 * exhausted.
 */
static json_t *whole_of(const struct vs_global *global, int64_t rank)
{
    static const char *const keys[] = {"disp", "etype", "filetype", "tiles", "datarep", NULL};
    static const char *const all[] = {"disp",   "etype",   "filetype", "tiles", "buftype",
                                      "memory", "datarep", "shape",    NULL};
    static const char *const beside[] = {"etype", "tiles", "datarep", NULL};
    json_t *given = json_object_get(global->spec->views[global->index].json, "global");
    json_t *whole = vs_global_merged(global, rank,
                                     given                 ? beside
                                     : global->facts.whole ? all
                                                           : keys);
    json_t *type, *inner, *old;

    if (given && whole && json_object_update(whole, given)) {
        json_decref(whole);
        return NULL;
    }
    if (global->facts.whole || whole == NULL)
        return whole;
    type = json_object_get(whole, "filetype");
    inner = vs_global_innermost(global, type);
    old = json_object_get(inner, "oldtype");
    if (global->facts.dimensions != 0)
        inner = kind_of(inner) > HPF_CYCLIC ? NULL : box_type(global, whole, inner, NULL, NULL);
    else if (count_elements(whole, inner))
        inner = NULL;
    else
        inner = old ? json_incref(old) : json_string("etype");
    if (inner == NULL ||
        json_object_set_new(whole, "filetype", vs_global_replaced(global, type, inner))) {
        json_decref(whole);
        return NULL;
    }
    return whole;
}

static int compile(const struct vs_global *global, json_t *json, struct vs_view **view, bool *ranks,
                   struct vs_error *error)
{
    return vs_spec_view_of(global->spec, global->index, global->given ? "global" : NULL, json, 0,
                           view, ranks, error);
}

/* Fails if the array of another rank differs from rank 0's. */
static int check_ranks(const struct vs_global *global, struct vs_error *error)
{
    const json_t *json = global->spec->views[global->index].json;
    int64_t count = (int64_t)json_array_size(json_object_get(json, "per_rank"));

    for (int64_t rank = 1; rank < count; rank++) {
        struct vs_view *view;
        json_t *other;
        bool same;

        /* whole_of needs a view that compiles: types may contain themselves. */
        if (vs_spec_view(global->spec, global->index, rank, &view, error))
            return error->code;
        vs_view_unref(view);
        other = whole_of(global, rank);
        same = other && json_equal(other, global->whole);
        json_decref(other);
        if (other == NULL)
            return vs_global_no_memory(global, error);
        if (!same)
            return vs_global_fail(global, error, "the ranks' parts belong to different arrays");
    }
    return 0;
}

/* Fails if the first or last byte of a rank's tile is not in the array that "global" describes. */
static int check_inside(const struct vs_global *global, int64_t rank, struct vs_error *error)
{
    const struct vs_map *whole = vs_view_map(global->view), *map;
    struct vs_view *view;
    int64_t size;
    bool inside;

    if (vs_spec_view(global->spec, global->index, rank, &view, error))
        return error->code;
    map = vs_view_map(view);
    size = vs_map_facts(map)->limit ? vs_map_facts(map)->tile_size : 0;
    inside = size == 0 || (vs_map_find(whole, vs_map_displacement(map, 0)) != -1 &&
                           vs_map_find(whole, vs_map_displacement(map, size - 1)) != -1);
    vs_view_unref(view);
    return inside
               ? 0
               : vs_global_fail(global, error,
                                "rank %lld owns bytes outside the array that \"global\" describes",
                                (long long)rank);
}

/* Checks the array of all ranks. It depends on the rank if `ranks` is set. */
static int check_array(const struct vs_global *global, bool ranks, struct vs_error *error)
{
    const struct vs_spec *spec = global->spec;

    if (check_ranks(global, error))
        return error->code;
    if (ranks && spec->ranks > 1)
        return vs_global_fail(global, error,
                              global->given ? "\"global\" depends on the rank"
                                            : "the ranks' parts belong to different arrays");
    if (vs_view_facts(global->view)->datarep == VS_USER)
        return vs_global_fail(global, error,
                              "a user-defined data representation is not possible here");
    if (global->given && !check_inside(global, 0, error))
        check_inside(global, spec->ranks - 1, error);
    return error->code;
}

/* Decides how the array is made of the filetype. */
static int find_kind(struct vs_global *global, enum kind *kind, struct vs_error *error)
{
    const struct vs_spec *spec = global->spec;
    static const char *const keys[] = {"filetype", NULL};
    json_t *view = vs_global_merged(global, 0, keys);
    json_t *type = json_object_get(view, "filetype");
    bool wrapped = vs_global_wraps(vs_global_definition(global, type));

    if (view == NULL)
        return vs_global_no_memory(global, error);
    global->given = vs_global_is_given(spec, global->index);
    *kind = global->given ? OTHER : kind_of(vs_global_innermost(global, type));
    json_decref(view);
    global->facts.dimensions = *kind == SCATTER && !wrapped ? 0 : -1;
    global->facts.whole = *kind == OTHER || (*kind == SCATTER && wrapped);
    if (global->facts.whole && !global->given && spec->ranks > 1 &&
        !vs_spec_view_is_common(spec, global->index))
        return vs_global_fail(
            global, error,
            "the ranks form no array (the filetype must be a subarray, darray, hpf_block, "
            "hpf_cyclic or scatter)");
    return 0;
}

/* Sets the shape of an array whose records cannot be divided: the array that a tile is. */
static void find_whole_shape(struct vs_global *global)
{
    const struct vs_view_facts *facts = vs_view_facts(global->view);
    int64_t etypes = vs_map_facts(vs_view_map(global->view))->tile_size / facts->etype_file_size,
            *one;

    if (facts->memory && facts->memory->etypes == 1) {
        global->facts.dimensions = facts->memory->dimensions;
        global->facts.sizes = facts->memory->owned;
        global->facts.fortran = facts->memory->fortran;
        return;
    }
    one = vs_arena_array(&global->arena, 1, sizeof(*one));
    if (one)
        *one = etypes;
    global->facts.dimensions = etypes == 1 ? 0 : 1;
    global->facts.sizes = one;
}

/* Sets the shape of the array, and its multiple of the etype in *etypes. */
static int find_shape(struct vs_global *global, int64_t *etypes, struct vs_error *error)
{
    const struct vs_array *part = vs_view_filetype(global->view)->part;
    const struct vs_map_facts *map = vs_map_facts(vs_view_map(global->view));
    const struct vs_view_facts *facts = vs_view_facts(global->view);

    *etypes = 1;
    if (map->tile_size == 0)
        return vs_global_fail(global, error, "the array is empty");
    if (map->tile_size / facts->etype_file_size > BYTES_MAX / facts->etype_size)
        return vs_global_fail(global, error, "the array has more than 2^62 bytes");
    if (global->facts.whole) {
        if (vs_view_gaps(global->view))
            return vs_global_fail(global, error, "a slice with gaps is no array");
        find_whole_shape(global);
    } else if (global->facts.dimensions != 0) {
        if (part == NULL || part->etypes == 0)
            return vs_global_fail(global, error, "the ranks form no array");
        global->facts.dimensions = part->dimensions;
        global->facts.sizes = part->sizes;
        global->facts.fortran = part->fortran;
        *etypes = part->etypes;
    } else {
        *etypes = map->tile_size / vs_view_facts(global->view)->etype_file_size;
    }
    if (global->facts.dimensions > VS_GLOBAL_DIMENSIONS - 2)
        return vs_global_fail(global, error, "the array has too many dimensions");
    return 0;
}

/* Makes the fields of the etype, of which an element has etypes. */
static int find_fields(struct vs_global *global, int64_t etypes, struct vs_error *error)
{
    const struct vs_type *etype = vs_view_etype(global->view);
    struct vs_fields fields = {.arena = &global->arena, .etype = etype, .etypes = etypes};
    int failure = vs_fields_find(&fields);

    if (failure == -E2BIG)
        return vs_global_fail(global, error, "the etype has too many parts for fields");
    if (failure)
        return vs_global_no_memory(global, error);
    global->facts.fields = fields.count;
    global->facts.field = global->field = fields.fields;
    global->etypes = fields.etypes_json;
    for (int64_t i = 0; i < fields.count; i++)
        fields.fields[i].big_endian =
            vs_view_facts(global->view)->datarep == VS_BIG_ENDIAN ||
            (vs_view_facts(global->view)->datarep == VS_NATIVE && VS_NATIVE_ORDER == VS_BIG_ENDIAN);
    return 0;
}

/* Sets the block to the shape of rank 0's part if that is a block of a regular grid. */
static void find_block(struct vs_global *global, enum kind kind)
{
    int64_t n = global->facts.dimensions;
    int64_t *block = vs_arena_array(&global->arena, n, sizeof(*block));
    struct vs_error error = {0};
    struct vs_local local;

    global->facts.block = global->facts.sizes;
    if (global->facts.whole || n == 0 || kind == HPF_CYCLIC || block == NULL ||
        vs_global_local(global, 0, &local, &error) || !local.box)
        return;
    for (int64_t d = 0; d < n; d++) {
        block[d] = local.count[d];
        if (local.start[d] != 0 || local.count[d] == 0)
            return;
    }
    global->facts.block = block;
}

static int make(struct vs_global *global, int64_t file_size, struct vs_error *error)
{
    enum kind kind = OTHER;
    bool ranks;
    int64_t etypes;

    if (find_kind(global, &kind, error))
        return error->code;
    global->whole = whole_of(global, 0);
    if (global->whole == NULL)
        return vs_global_no_memory(global, error);
    if (compile(global, global->whole, &global->view, &ranks, error) ||
        check_array(global, ranks, error) || find_shape(global, &etypes, error) ||
        find_fields(global, etypes, error))
        return error->code;
    find_block(global, kind);
    return vs_global_label(global, file_size, error);
}

int vs_global_new(const struct vs_spec *spec, size_t index, int64_t file_size,
                  struct vs_global **result, struct vs_error *error)
{
    struct vs_global *global = calloc(1, sizeof(*global));

    if (global == NULL)
        return vs_fail_memory(error, &spec->text);
    global->spec = spec;
    global->index = index;
    if (make(global, file_size, error))
        vs_global_free(global);
    else
        *result = global;
    return error->code;
}

void vs_global_free(struct vs_global *global)
{
    if (global == NULL)
        return;
    for (int64_t i = 0; global->etypes && i < global->facts.fields; i++)
        json_decref(global->etypes[i]);
    vs_view_unref(global->view);
    json_decref(global->whole);
    vs_arena_free(&global->arena);
    free(global);
}

/* Changes the VIEW of the whole array to that of a box. */
static int cut(const struct vs_global *global, const struct vs_box *box, json_t *view)
{
    const struct vs_map_facts *facts = vs_map_facts(vs_view_map(global->view));
    json_t *type = json_object_get(view, "filetype"), *inner;
    int64_t displacement;
    int error = 0;

    if (__builtin_mul_overflow(box->record, facts->tile_extent, &displacement) ||
        __builtin_add_overflow(displacement, facts->displacement, &displacement))
        return -EINVAL;
    if (!global->facts.whole && global->facts.dimensions > 0) {
        inner = box_type(global, view, vs_global_innermost(global, type), box->count, box->start);
        error |= json_object_set_new(view, "filetype", vs_global_replaced(global, type, inner));
    }
    if (global->etypes[box->field])
        error |= json_object_set(view, "etype", global->etypes[box->field]);
    error |= json_object_set_new(view, "disp", json_integer(displacement));
    error |= json_object_set_new(view, "tiles", json_integer(box->records));
    if (box->raw)
        json_object_del(view, "datarep");
    return error ? -ENOMEM : 0;
}

int vs_global_box(const struct vs_global *global, const struct vs_box *box, struct vs_view **view,
                  struct vs_error *error)
{
    json_t *json = json_copy(global->whole);
    bool ranks;
    int failure = json ? cut(global, box, json) : -ENOMEM;

    if (failure == 0)
        compile(global, json, view, &ranks, error);
    else if (failure == -ENOMEM)
        vs_global_no_memory(global, error);
    else
        vs_global_fail(global, error, "the box is outside the array");
    json_decref(json);
    return error->code;
}
