/* SPDX-License-Identifier: MIT */
#include "zarr_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The tree of a Zarr store. The nodes of a group follow each other. In a group, dimensions of one
 * name have one size and one grid, and no array has a dimension of its own name beside others, as
 * xarray requires. A dimension that would break this is called after its array as well.
 */

/* Dimensions are numbered by node * DIMENSIONS + dimension of its shape. */
#define DIMENSIONS VS_GLOBAL_DIMENSIONS
/* The longest name of a file. */
#define NAME_MAX_BYTES 255

/* The key in the table of names: of a node or a dimension called name in a place. */
struct key {
    char text[VS_ZARR_NAME + 24];
};

static struct key key_of(int64_t place, const char *name)
{
    struct key key;

    snprintf(key.text, sizeof(key.text), "%lld/%s", (long long)place, name);
    return key;
}

/* Gives a name to a node or to a dimension. Lack of memory is recorded in the arena. */
static void set_name(struct vs_zarr *zarr, int64_t place, const char *name, int64_t number)
{
    struct key key = key_of(place, name);

    if (json_object_set_new(zarr->names, key.text, json_integer(number)))
        zarr->arena.failure = -ENOMEM;
}

int64_t vs_zarr_number(const struct vs_zarr *zarr, int64_t place, const char *name)
{
    struct key key = key_of(place, name);
    const json_t *number = json_object_get(zarr->names, key.text);

    return number ? json_integer_value(number) : -1;
}

/* Returns the place of the dimensions in a group. Places of nodes are -1 or more: groups. */
static int64_t dimension_place(int64_t up)
{
    return -2 - up;
}

static int add(struct vs_zarr *zarr, const struct vs_zarr_node *node, struct vs_error *error)
{
    struct vs_zarr_node *nodes = realloc(zarr->nodes, (size_t)(zarr->count + 1) * sizeof(*nodes)),
                        *new;

    if (nodes == NULL)
        return -ENOMEM;
    zarr->nodes = nodes;
    if (zarr->count == VS_ZARR_NODES)
        return vs_export_fail(error, "%s: more than 262144 arrays in a Zarr store", node->name);
    if (strlen(node->name) > NAME_MAX_BYTES)
        return vs_export_fail(error, "%s: too long a name in the Zarr store", node->name);
    if (vs_zarr_number(zarr, node->up, node->name) >= 0)
        return vs_export_fail(error, "the name \"%s\" occurs twice in the Zarr store", node->name);
    new = &nodes[zarr->count];
    *new = *node;
    new->name = vs_arena_text(&zarr->arena, node->name);
    set_name(zarr, node->up, node->name, zarr->count++);
    return zarr->arena.failure;
}

/* The dimension of an array's shape in the file for which the store was made. */
struct dimension {
    int64_t size;
    bool has_grid;
    double origin, spacing;
};

/* Returns the number in a field's shape of the array's first dimension. */
static int64_t first_of(const struct vs_zarr_node *node)
{
    const struct vs_global_facts *facts = vs_global_facts(node->global);

    return facts->fortran ? facts->field[node->field].values > 1 : facts->records;
}

/* Sets the dimension with that number. */
static void find_dimension(const struct vs_zarr *zarr, int64_t number, struct dimension *dimension)
{
    const struct vs_zarr_node *node = &zarr->nodes[number / DIMENSIONS];
    const struct vs_global_facts *facts = vs_global_facts(node->global);
    int64_t i = number % DIMENSIONS, d = i - first_of(node);
    struct vs_global_shape shape;

    vs_global_shape(node->global, node->field, node->records, &shape);
    *dimension = (struct dimension){.size = shape.sizes[i]};
    dimension->has_grid = facts->has_grid && d >= 0 && d < facts->dimensions;
    if (dimension->has_grid) {
        dimension->origin = facts->origin[d];
        dimension->spacing = facts->spacing[d];
    }
}

/* Takes a name for a dimension in its group. Returns false if another dimension has it. */
static bool take_name(struct vs_zarr *zarr, int64_t number, const char *name)
{
    int64_t place = dimension_place(zarr->nodes[number / DIMENSIONS].up);
    int64_t taken = vs_zarr_number(zarr, place, name);
    struct dimension own, other;

    find_dimension(zarr, number, &own);
    find_dimension(zarr, taken < 0 ? number : taken, &other);
    if (own.size != other.size || (own.has_grid && other.has_grid &&
                                   (own.origin != other.origin || own.spacing != other.spacing)))
        return false;
    /* A dimension with a grid stands for those without. */
    if (taken < 0 || (own.has_grid && !other.has_grid))
        set_name(zarr, place, name, number);
    return true;
}

/* Names a dimension after its array as well. Returns 0 or a negative errno, with error filled. */
static int rename_dimension(struct vs_zarr *zarr, int64_t number, struct vs_error *error)
{
    struct vs_zarr_node *node = &zarr->nodes[number / DIMENSIONS];
    char text[VS_ZARR_NAME];
    struct vs_global_shape shape;

    vs_global_shape(node->global, node->field, node->records, &shape);
    if (node->dims == NULL) {
        node->dims = vs_arena_array(&zarr->arena, shape.dimensions, sizeof(*node->dims));
        if (node->dims)
            memcpy(node->dims, shape.dims, (size_t)shape.dimensions * sizeof(*node->dims));
    }
    snprintf(text, sizeof(text), "%s_%s", node->name, shape.dims[number % DIMENSIONS]);
    if (node->dims)
        node->dims[number % DIMENSIONS] = vs_arena_text(&zarr->arena, text);
    if (zarr->arena.failure)
        return -ENOMEM;
    return take_name(zarr, number, node->dims[number % DIMENSIONS])
               ? 0
               : vs_export_fail(error, "two dimensions in the Zarr store are called \"%s\"", text);
}

static int add_field(struct vs_zarr *zarr, const struct vs_zarr_node *node, struct vs_error *error)
{
    int64_t number = zarr->count * DIMENSIONS;
    struct vs_global_shape shape;
    int failure = add(zarr, node, error);

    vs_global_shape(node->global, node->field, node->records, &shape);
    for (int d = 0; d < shape.dimensions && !failure; d++) {
        bool own = shape.dimensions > 1 && strcmp(shape.dims[d], node->name) == 0;

        if (own || !take_name(zarr, number + d, shape.dims[d]))
            failure = rename_dimension(zarr, number + d, error);
    }
    return failure;
}

/* Adds the fields of a view to a group. The name is that of a field without a name. */
static int add_fields(struct vs_zarr *zarr, const struct vs_global *global, const char *name,
                      int64_t up, int64_t file_size, struct vs_error *error)
{
    const struct vs_global_facts *facts = vs_global_facts(global);
    int failure = 0;

    for (int64_t i = 0; i < facts->fields && !failure; i++) {
        const char *field = facts->field[i].name;
        struct vs_zarr_node node = {.kind = VS_ZARR_FIELD,
                                    .name = field[0] ? field : name,
                                    .up = up,
                                    .global = global,
                                    .records = vs_global_records(global, file_size),
                                    .field = i};

        failure = add_field(zarr, &node, error);
    }
    return failure;
}

/*
 * Adds a view to the store: a group if the spec has named views and there are several arrays. If
 * another view has taken the name, the view's name in the spec is used.
 */
static int add_view(struct vs_zarr *zarr, const struct vs_global *global, int64_t file_size,
                    struct vs_error *error)
{
    const struct vs_global_facts *facts = vs_global_facts(global);
    bool taken = facts->view && vs_zarr_number(zarr, 0, facts->name) >= 0;
    const char *name = taken ? facts->view : facts->name;

    if (facts->view == NULL || facts->fields == 1)
        return add_fields(zarr, global, name, 0, file_size, error);
    return add(zarr, &(struct vs_zarr_node){.kind = VS_ZARR_GROUP, .name = name, .global = global},
               error);
}

/* Adds the coordinates of the dimensions of a field, unless an array has the name of one. */
static int add_coordinates(struct vs_zarr *zarr, int64_t field, struct vs_error *error)
{
    const struct vs_zarr_node own = zarr->nodes[field];
    const struct vs_global_facts *facts = vs_global_facts(own.global);
    int64_t first = first_of(&own);
    struct vs_global_shape shape;
    int failure = 0;

    vs_global_shape(own.global, own.field, own.records, &shape);
    for (int64_t d = 0; facts->has_grid && d < facts->dimensions && !failure; d++) {
        struct vs_zarr_node node = {.kind = VS_ZARR_COORDINATES,
                                    .name = (own.dims ? own.dims : shape.dims)[d + first],
                                    .up = own.up,
                                    .global = own.global,
                                    .dimension = d};

        if (facts->sizes[d] <= VS_COORDINATES_MAX && vs_zarr_number(zarr, own.up, node.name) < 0)
            failure = add(zarr, &node, error);
    }
    return failure;
}

/* Adds the coordinates of a group, whose arrays are the last nodes, and finishes it. */
static int finish_group(struct vs_zarr *zarr, int64_t group, int64_t first, struct vs_error *error)
{
    int64_t end = zarr->count;
    int failure = 0;

    for (int64_t i = first; i < end && !failure; i++)
        if (zarr->nodes[i].kind == VS_ZARR_FIELD)
            failure = add_coordinates(zarr, i, error);
    zarr->nodes[group].first = first;
    zarr->nodes[group].count = zarr->count - first;
    return failure;
}

int vs_zarr_make(struct vs_zarr *zarr, const struct vs_global *const *globals, size_t count,
                 int64_t file_size, struct vs_error *error)
{
    int failure = -ENOMEM;

    zarr->names = json_object();
    if (zarr->names)
        failure =
            add(zarr, &(struct vs_zarr_node){.kind = VS_ZARR_GROUP, .name = "", .up = -1}, error);
    for (size_t i = 0; i < count && !failure; i++)
        failure = add_view(zarr, globals[i], file_size, error);
    if (!failure)
        failure = finish_group(zarr, 0, 1, error);
    for (int64_t i = 1; !failure && i <= zarr->nodes[0].count; i++) {
        int64_t first = zarr->count;

        if (zarr->nodes[i].kind != VS_ZARR_GROUP)
            continue;
        failure = add_fields(zarr, zarr->nodes[i].global, "", i, file_size, error);
        if (!failure)
            failure = finish_group(zarr, i, first, error);
    }
    return failure ? failure : zarr->arena.failure;
}
