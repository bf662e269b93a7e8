/* SPDX-License-Identifier: MIT */
#include "global_private.h"

#include <stdio.h>
#include <string.h>

#include "export_private.h"

/* The facts of a global array, and the parts of the JSON that it is found in. */

json_t *vs_global_merged(const struct vs_global *global, int64_t rank, const char *const *keys)
{
    const json_t *view = global->spec->views[global->index].json;
    json_t *entry = json_array_get(json_object_get(view, "per_rank"), (size_t)rank);
    json_t *result = json_object();

    for (; result && *keys; keys++) {
        json_t *value = json_object_get(entry, *keys);

        value = value ? value : json_object_get(view, *keys);
        if (value && json_object_set(result, *keys, value)) {
            json_decref(result);
            result = NULL;
        }
    }
    return result;
}

bool vs_global_is_given(const struct vs_spec *spec, size_t index)
{
    return json_object_get(spec->views[index].json, "global") != NULL;
}

const struct vs_global_facts *vs_global_facts(const struct vs_global *global)
{
    return &global->facts;
}

int64_t vs_global_ranks(const struct vs_global *global)
{
    return global->spec->ranks;
}

bool vs_global_is_raw(const struct vs_global *global)
{
    return vs_view_facts(global->view)->datarep != VS_EXTERNAL32;
}

int64_t vs_global_records(const struct vs_global *global, int64_t file_size)
{
    int64_t tile = vs_map_facts(vs_view_map(global->view))->tile_size;
    int64_t records = vs_view_positions(global->view, file_size) / tile;

    return global->facts.records || records == 0 ? records : 1;
}

static void add_dimension(struct vs_global_shape *shape, int64_t size, int64_t block,
                          const char *name)
{
    shape->sizes[shape->dimensions] = size;
    shape->block[shape->dimensions] = block;
    shape->dims[shape->dimensions++] = name;
}

void vs_global_shape(const struct vs_global *global, int64_t field, int64_t records,
                     struct vs_global_shape *shape)
{
    const struct vs_global_facts *facts = &global->facts;
    int64_t n = facts->dimensions, values = facts->field[field].values;
    bool first = facts->records && !facts->fortran;

    shape->dimensions = 0;
    if (values > 1 && facts->fortran)
        add_dimension(shape, values, values, facts->field[field].value_dim);
    if (first)
        add_dimension(shape, records, 1, facts->dims[0]);
    for (int64_t d = 0; d < n; d++)
        add_dimension(shape, facts->sizes[d], facts->block[d], facts->dims[d + first]);
    if (facts->records && !first)
        add_dimension(shape, records, 1, facts->dims[n]);
    if (values > 1 && !facts->fortran)
        add_dimension(shape, values, values, facts->field[field].value_dim);
}

/* Names of a global array and of its dimensions, and its grid. */

/* Returns true if "dims" has the name. */
static bool occurs(const json_t *dims, const char *name)
{
    for (size_t i = 0; i < json_array_size(dims); i++)
        if (strcmp(json_string_value(json_array_get(dims, i)), name) == 0)
            return true;
    return false;
}

/* Returns true if the array of a field has the name. */
static bool is_array(const struct vs_global *global, const char *name)
{
    for (int64_t i = 0; i < global->facts.fields; i++)
        if (strcmp(vs_export_name(global, i), name) == 0)
            return true;
    return false;
}

/* Returns the name, followed by _ until neither "dims" nor an array has it. NULL: out of memory. */
static const char *free_name(struct vs_global *global, const json_t *dims, const char *name)
{
    char text[VS_LABEL_MAX + 40 + VS_GLOBAL_DIMENSIONS +
              2]; /* one array at most has a _ at its end */

    snprintf(text, VS_LABEL_MAX + 40, "%s", name);
    while (occurs(dims, text) || is_array(global, text))
        strcat(text, "_");
    return vs_arena_text(&global->arena, text);
}

/*
 * Returns the default name of a dimension, or NULL. The view's name precedes it if views have
 * names: dimensions with one name must have one size in all arrays of a file.
 */
static const char *default_name(struct vs_global *global, const json_t *dims, const char *dimension)
{
    const char *view = vs_spec_view_name(global->spec, global->index);
    char text[VS_LABEL_MAX + 40];

    snprintf(text, sizeof(text), "%.*s%s%s", VS_LABEL_MAX, view ? view : "", view ? "_" : "",
             dimension);
    return free_name(global, dims, text);
}

/*
 * Returns the name of number i of "dims", or NULL. Only the dimension of an array without other
 * dimensions may have the name of the array, which then are coordinates. xarray refuses others.
 */
static const char *given_name(struct vs_global *global, const json_t *dims, int64_t i)
{
    const char *name = json_string_value(json_array_get(dims, (size_t)i));
    bool several = global->facts.dimensions + global->facts.records > 1;

    for (int64_t field = 0; field < global->facts.fields; field++)
        several = several || global->field[field].values > 1;
    return several && is_array(global, name) ? free_name(global, dims, name) : name;
}

/* Names the dimensions of values. *given* is the number in "dims" if it names the only one, or -1.
 */
static void name_values(struct vs_global *global, const json_t *dims, int64_t given)
{
    for (int64_t i = 0; i < global->facts.fields; i++) {
        struct vs_global_field *field = &global->field[i];
        char text[300];

        snprintf(text, sizeof(text), "%s_value", field->name);
        if (field->values == 1)
            continue;
        if (given >= 0)
            field->value_dim = given_name(global, dims, given);
        else
            field->value_dim = field->name[0] ? free_name(global, dims, text)
                                              : default_name(global, dims, "value");
    }
}

/* Names the dimensions: by "dims", or dim_0, ..., record and value. */
static int name_dimensions(struct vs_global *global, const json_t *dims, struct vs_error *error)
{
    struct vs_global_facts *facts = &global->facts;
    int64_t n = facts->dimensions, given = (int64_t)json_array_size(dims);
    int64_t values = facts->fields == 1 && facts->field[0].values > 1;
    const char **names = vs_arena_array(&global->arena, n + 1, sizeof(*names));
    bool first = facts->records && !facts->fortran;

    if (dims && given != n && given != n + facts->records + values)
        return vs_global_fail(global, error,
                              "\"dims\" has %lld names: the array has %lld dimensions",
                              (long long)given, (long long)(n + facts->records + values));
    if (names == NULL)
        return vs_global_no_memory(global, error);
    for (int64_t i = 0, d = 0; i < n + facts->records; i++) {
        bool record = facts->records && i == (first ? 0 : n);
        /* The values come last in C order, first in Fortran order. */
        int64_t at = given == n ? d : i + (facts->fortran ? values : 0);
        char text[40];

        snprintf(text, sizeof(text), "dim_%lld", (long long)d);
        d += !record;
        if (given && !(record && given == n))
            names[i] = given_name(global, dims, at);
        else
            names[i] = default_name(global, dims, record ? "record" : text);
    }
    name_values(global, dims, given > n && values ? (facts->fortran ? 0 : given - 1) : -1);
    facts->dims = names;
    return global->arena.failure ? vs_global_no_memory(global, error) : 0;
}

/* Reads the numbers under key of "grid"; absent ones keep their values. */
static int read_numbers(struct vs_global *global, const json_t *grid, const char *key,
                        double *numbers, struct vs_error *error)
{
    const json_t *list = json_object_get(grid, key);

    if (list && (int64_t)json_array_size(list) != global->facts.dimensions)
        return vs_global_fail(global, error,
                              "\"%s\" of the grid has %zu numbers: the array has %lld dimensions",
                              key, json_array_size(list), (long long)global->facts.dimensions);
    for (size_t i = 0; i < json_array_size(list); i++)
        numbers[i] = json_number_value(json_array_get(list, i));
    return 0;
}

int vs_global_label(struct vs_global *global, int64_t file_size, struct vs_error *error)
{
    struct vs_global_facts *facts = &global->facts;
    const json_t *json = global->spec->views[global->index].json;
    const json_t *dims = json_object_get(json, "dims"), *grid = json_object_get(json, "grid");
    const char *name = json_string_value(json_object_get(json, "name"));
    int64_t values = facts->fields == 1 && facts->field[0].values > 1;

    facts->view = vs_spec_view_name(global->spec, global->index);
    facts->name = name ? name : facts->view;
    facts->name = facts->name ? facts->name : "data";
    facts->records = true;
    facts->records = facts->dimensions == 0 || vs_global_records(global, file_size) > 1 ||
                     (int64_t)json_array_size(dims) > facts->dimensions + values;
    for (int d = 0; d < 3; d++)
        facts->spacing[d] = 1;
    facts->has_grid = grid != NULL;
    if (grid && facts->dimensions > 3)
        return vs_global_fail(global, error, "\"grid\" is possible with up to 3 dimensions only");
    return name_dimensions(global, dims, error) ||
                   read_numbers(global, grid, "origin", facts->origin, error) ||
                   read_numbers(global, grid, "spacing", facts->spacing, error)
               ? error->code
               : 0;
}
