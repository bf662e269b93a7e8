/* SPDX-License-Identifier: MIT */
#include "global_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "viewspec/map/map_private.h"

/* The facts of a global array, and the parts of the JSON that it is found in. */

int vs_global_fail(const struct vs_global *global, struct vs_error *error, const char *format, ...)
{
    char reason[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    return vs_fail(error, &global->spec->text, global->spec->views[global->index].place, false,
                   "%s", reason);
}

int vs_global_no_memory(const struct vs_global *global, struct vs_error *error)
{
    return vs_fail_memory(error, &global->spec->text);
}

json_t *vs_global_definition(const struct vs_global *global, json_t *type)
{
    json_t *types = json_object_get(global->spec->root, "types"), *named;

    while (json_is_string(type) && (named = json_object_get(types, json_string_value(type))))
        type = named;
    return type;
}

const char *vs_global_type_of(const json_t *definition)
{
    const char *type = json_string_value(json_object_get(definition, "type"));

    return type ? type : "";
}

bool vs_global_wraps(const json_t *definition)
{
    return strcmp(vs_global_type_of(definition), "resized") == 0 ||
           strcmp(vs_global_type_of(definition), "dup") == 0;
}

json_t *vs_global_innermost(const struct vs_global *global, json_t *type)
{
    type = vs_global_definition(global, type);
    while (vs_global_wraps(type))
        type = vs_global_definition(global, json_object_get(type, "oldtype"));
    return type;
}

json_t *vs_global_replaced(const struct vs_global *global, json_t *type, json_t *inner)
{
    json_t *copy;

    type = vs_global_definition(global, type);
    if (!vs_global_wraps(type))
        return inner;
    inner = vs_global_replaced(global, json_object_get(type, "oldtype"), inner);
    if (strcmp(vs_global_type_of(type), "dup") == 0)
        return inner;
    copy = json_copy(type);
    json_object_set_new(copy, "oldtype", inner);
    return copy;
}

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

/* Adds a dimension to a shape. */
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
