/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "global_private.h"
#include "viewspec/map/map_private.h"
#include "viewspec/map/shape.h"
#include "viewspec/types/byte_order.h"
#include "viewspec/types/ranks.h"

/*
 * The global array of a view. It and boxes of it are cut out of the view's JSON when that is
 * compiled (struct vs_cut), like any other view. All rules of the language thus hold for boxes as
 * well.
 */

/* The most bytes of a record in memory, so that sums with headers do not overflow. */
#define BYTES_MAX ((int64_t)1 << 62)

/* The kinds of filetypes. */
enum kind { SUBARRAY, DARRAY, HPF_BLOCK, HPF_CYCLIC, SCATTER, OTHER };

/*
 * Returns the kind of a filetype: of the type inside resized and dup, as in struct vs_cut. Sets
 * *wrapped if it is inside of one.
 */
static enum kind kind_of(const struct vs_global *global, const json_t *type, bool *wrapped)
{
    static const char *const kinds[] = {"subarray", "darray", "hpf_block", "hpf_cyclic", "scatter"};
    const json_t *types = json_object_get(global->spec->root, "types"), *named;
    const char *name;
    int kind = SUBARRAY;

    for (*wrapped = false;; *wrapped = true) {
        while (json_is_string(type) && (named = json_object_get(types, json_string_value(type))))
            type = named;
        name = json_string_value(json_object_get(type, "type"));
        if (name == NULL || (strcmp(name, "resized") != 0 && strcmp(name, "dup") != 0))
            break;
        type = json_object_get(type, "oldtype");
    }
    while (kind < OTHER && (name == NULL || strcmp(name, kinds[kind]) != 0))
        kind++;
    return (enum kind)kind;
}

/*
 * Returns the VIEW that the whole array is cut out of, as a rank's view describes it, or NULL if
 * memory is exhausted.
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

    if (given && whole && json_object_update(whole, given)) {
        json_decref(whole);
        return NULL;
    }
    return whole;
}

static int compile(const struct vs_global *global, json_t *json, const struct vs_cut *cut,
                   struct vs_view **view, bool *ranks, struct vs_error *error)
{
    return vs_spec_view_of(global->spec, global->index, global->given ? "global" : NULL, json, cut,
                           0, view, ranks, error);
}

/* Returns true if the tiles of two views of whole arrays are the same. */
static bool same_arrays(const struct vs_view *a, const struct vs_view *b)
{
    const struct vs_array *x = vs_view_filetype(a)->part, *y = vs_view_filetype(b)->part;
    const struct vs_node *tile = vs_view_map(a)->tile;
    const struct vs_shape *shape;
    struct vs_shapes shapes = {0};
    bool same = vs_views_agree(a, b) && !x == !y;

    if (same && x)
        same = x->dimensions == y->dimensions && x->etypes == y->etypes &&
               x->fortran == y->fortran && x->element == y->element &&
               memcmp(x->sizes, y->sizes, (size_t)x->dimensions * sizeof(*x->sizes)) == 0;
    if (same && tile) {
        shape = vs_shape_of_node(&shapes, tile); /* NULL: out of memory */
        same = shape && shape == vs_shape_of_node(&shapes, vs_view_map(b)->tile);
    }
    vs_shapes_free(&shapes);
    return same;
}

/* Fails if the array that another rank's view describes differs from rank 0's. */
static int check_rank(const struct vs_global *global, int64_t rank, struct vs_error *error)
{
    const struct vs_cut cut = {.array = !global->facts.whole};
    struct vs_view *view = NULL;
    json_t *other;
    bool same, ranks;

    /* The rank's own view may be wrong where the array does not show it. */
    if (vs_spec_view(global->spec, global->index, rank, &view, error))
        return error->code;
    vs_view_unref(view);
    other = whole_of(global, rank);
    if (other == NULL)
        return vs_global_no_memory(global, error);
    same = json_equal(other, global->whole);
    if (!same && cut.array && compile(global, other, &cut, &view, &ranks, error) == 0) {
        same = same_arrays(global->view, view);
        vs_view_unref(view);
    }
    json_decref(other);
    if (!same && !error->code)
        vs_global_fail(global, error, "the ranks' parts belong to different arrays");
    return error->code;
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
    const json_t *json = spec->views[global->index].json;
    int64_t count = (int64_t)json_array_size(json_object_get(json, "per_rank"));

    for (int64_t rank = 1; rank < count; rank++)
        if (check_rank(global, rank, error))
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
    bool wrapped;

    if (view == NULL)
        return vs_global_no_memory(global, error);
    global->given = vs_global_is_given(spec, global->index);
    *kind = kind_of(global, json_object_get(view, "filetype"), &wrapped);
    if (global->given)
        *kind = OTHER;
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

/* Fields. */

/* The search for the fields of an etype, which are its parts of one basic type. */
struct fields {
    struct vs_global *global; /* for the results: facts.fields, field without value_dim, cuts */
    int64_t etypes;           /* etypes in an element of the array */
    int64_t listed;           /* starts at 0: values and records whose places are listed */
};

/* The most values that are listed for the fields of an etype together, and the most fields. */
#define VALUES_MAX ((int64_t)1 << 18)
#define FIELDS_MAX 1024
/* Length of a field's name, including nesting. */
#define NAME_SIZE 256

/* Positions in the etype at which instances of a record begin. */
struct bases {
    int64_t *position;
    int64_t count;
};

/* Returns the positions of the instances of part number index of a record. NULL: out of memory. */
static int64_t *positions_of(const struct fields *fields, const struct bases *bases,
                             const struct vs_record *record, int64_t index)
{
    const struct vs_repeat *part = &record->parts[index];
    int64_t *positions =
        vs_arena_array(&fields->global->arena, bases->count * part->count, sizeof(*positions));

    for (int64_t i = 0; positions && i < bases->count * part->count; i++)
        positions[i] =
            bases->position[i / part->count] + record->file[index] + i % part->count * part->file;
    return positions;
}

/* Cuts the values of one part at the given positions, which are overwritten, out of the etype. */
static void cut_values(struct vs_global *global, const struct vs_repeat *part,
                       const struct bases *values, struct vs_cut *cut)
{
    int64_t *lengths = vs_arena_array(&global->arena, values->count, sizeof(*lengths)), next = 0;

    *cut = (struct vs_cut){
        .basic = part->basic, .lengths = lengths, .displacements = values->position};
    for (int64_t i = 0; lengths && i < values->count; i++) {
        int64_t displacement = vs_node_seek(vs_view_etype(global->view)->node, values->position[i]);

        if (i == 0 || displacement != next)
            values->position[cut->blocks++] = displacement;
        lengths[cut->blocks - 1]++;
        next = displacement + part->file;
    }
}

static int add_values(const struct fields *fields, const char *name, const struct vs_repeat *part,
                      const struct bases *values)
{
    struct vs_global *global = fields->global;
    int64_t field = global->facts.fields++;
    enum vs_datarep datarep = vs_view_facts(global->view)->datarep;

    global->field[field] = (struct vs_global_field){
        .name = vs_arena_text(&global->arena, name),
        .basic = part->basic,
        .values = values->count * fields->etypes,
        .big_endian =
            datarep == VS_BIG_ENDIAN || (datarep == VS_NATIVE && VS_NATIVE_ORDER == VS_BIG_ENDIAN),
    };
    if (values->position)
        cut_values(global, part, values, &global->cuts[field]);
    return global->arena.failure;
}

/* Returns the number of fields of a record, or more than FIELDS_MAX. */
static int64_t count_fields(const struct vs_record *record)
{
    int64_t count = 0;

    for (int64_t i = 0; i < record->count && count <= FIELDS_MAX; i++)
        count += record->parts[i].basic ? 1 : count_fields(record->parts[i].record);
    return count;
}

/* Adds the fields of a record, whose instances are at bases. Types nest 64 levels deep at most. */
static int add_record(struct fields *fields, const char *prefix, const struct vs_record *record,
                      const struct bases *bases)
{
    int error = 0;

    for (int64_t i = 0; i < record->count && error == 0; i++) {
        const struct vs_repeat *part = &record->parts[i];
        struct bases inner = {.count = bases->count * part->count};
        char name[NAME_SIZE];

        if (part->count > VALUES_MAX || inner.count > VALUES_MAX - fields->listed ||
            snprintf(name, sizeof(name), "%s%sf%lld", prefix, *prefix ? "_" : "", (long long)i) >=
                NAME_SIZE)
            return -E2BIG;
        inner.position = positions_of(fields, bases, record, i);
        if (inner.position == NULL)
            return -ENOMEM;
        fields->listed += inner.count;
        error = part->basic ? add_values(fields, name, part, &inner)
                            : add_record(fields, name, part->record, &inner);
    }
    return error;
}

/* Finds the fields. Returns 0, -ENOMEM, or -E2BIG if there are more values than can be listed. */
static int list_fields(struct fields *fields)
{
    struct vs_global *global = fields->global;
    const struct vs_repeat *elements = &vs_view_etype(global->view)->elements;
    int64_t room = elements->basic ? 1 : count_fields(elements->record);
    struct bases bases = {.count = elements->count};

    if (room > FIELDS_MAX)
        return -E2BIG;
    global->facts.field = global->field =
        vs_arena_array(&global->arena, room, sizeof(*global->field));
    global->cuts = vs_arena_array(&global->arena, room, sizeof(*global->cuts));
    if (global->arena.failure)
        return -ENOMEM;
    if (elements->basic) /* the only field, which is the view's own etype */
        return add_values(fields, "", elements, &bases);
    if (elements->count > VALUES_MAX)
        return -E2BIG;
    bases.position = vs_arena_array(&global->arena, elements->count, sizeof(*bases.position));
    for (int64_t i = 0; bases.position && i < elements->count; i++)
        bases.position[i] = i * elements->file;
    return bases.position ? add_record(fields, "", elements->record, &bases) : -ENOMEM;
}

/* Makes the fields of the etype, of which an element has etypes. */
static int find_fields(struct vs_global *global, int64_t etypes, struct vs_error *error)
{
    struct fields fields = {.global = global, .etypes = etypes};
    int failure = list_fields(&fields);

    if (failure == -E2BIG)
        return vs_global_fail(global, error, "the etype has too many parts for fields");
    return failure ? vs_global_no_memory(global, error) : 0;
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
    struct vs_cut cut = {0};
    bool ranks;
    int64_t etypes;

    if (find_kind(global, &kind, error))
        return error->code;
    cut.array = !global->facts.whole;
    global->whole = whole_of(global, 0);
    if (global->whole == NULL)
        return vs_global_no_memory(global, error);
    if (compile(global, global->whole, &cut, &global->view, &ranks, error) ||
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
    vs_view_unref(global->view);
    json_decref(global->whole);
    vs_arena_free(&global->arena);
    free(global);
}

/* Changes the VIEW of the whole array to the records of a box. */
static int cut_records(const struct vs_global *global, const struct vs_box *box, json_t *view)
{
    const struct vs_map_facts *facts = vs_map_facts(vs_view_map(global->view));
    int64_t displacement;
    int error;

    if (__builtin_mul_overflow(box->record, facts->tile_extent, &displacement) ||
        __builtin_add_overflow(displacement, facts->displacement, &displacement))
        return -EINVAL;
    error = json_object_set_new(view, "disp", json_integer(displacement));
    error |= json_object_set_new(view, "tiles", json_integer(box->records));
    if (box->raw)
        json_object_del(view, "datarep");
    return error ? -ENOMEM : 0;
}

int vs_global_box(const struct vs_global *global, const struct vs_box *box, struct vs_view **view,
                  struct vs_error *error)
{
    struct vs_cut cut = global->cuts[box->field];
    json_t *json = json_copy(global->whole);
    bool ranks;
    int failure = json ? cut_records(global, box, json) : -ENOMEM;

    cut.array = !global->facts.whole;
    cut.start = box->start;
    cut.count = box->count;
    if (failure == 0)
        compile(global, json, &cut, view, &ranks, error);
    else if (failure == -ENOMEM)
        vs_global_no_memory(global, error);
    else
        vs_global_fail(global, error, "the box is outside the array");
    json_decref(json);
    return error->code;
}
