/* SPDX-License-Identifier: MIT */
#include "view.h"

#include <ctype.h>
#include <string.h>

#include "viewspec/global.h"
#include "viewspec/text/json.h"

/* Labels: names of a view, its dimensions and its grid. */

/* A label is a name that Zarr, netCDF and VTK accept and that can be a file's name, too. */
bool vs_is_label(const char *name)
{
    size_t length = strlen(name);

    if (length > VS_LABEL_MAX || !(isalpha((unsigned char)name[0]) || name[0] == '_'))
        return false;
    for (size_t i = 1; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("_-.", name[i]))
            return false;
    return true;
}

static int check_name(const struct vs_source *source, const json_t *value,
                      const struct vs_place *place)
{
    const char *name = json_string_value(value);

    if (name == NULL)
        return vs_build_fail(source, place, "expected a string, got %s", vs_kind_name(value));
    return vs_is_label(name)
               ? 0
               : vs_build_fail(source, place,
                               "a name is a letter or _, then letters, digits, _, - and .");
}

static int check_dims(const struct vs_source *source, const json_t *dims)
{
    struct vs_place place = {.up = source->place, .key = "dims"};

    if (!json_is_array(dims))
        return vs_build_fail(source, &place, "expected an array, got %s", vs_kind_name(dims));
    if (json_array_size(dims) > VS_GLOBAL_DIMENSIONS)
        return vs_build_fail(source, &place, "%zu names: an array has at most %d",
                             json_array_size(dims), VS_GLOBAL_DIMENSIONS);
    for (size_t i = 0; i < json_array_size(dims); i++) {
        const json_t *name = json_array_get(dims, i);
        struct vs_place here = {.up = &place, .index = i};

        if (check_name(source, name, &here))
            return source->scope->error->code;
        for (size_t j = 0; j < i; j++)
            if (json_equal(name, json_array_get(dims, j)))
                return vs_build_fail(source, &here, "the name occurs twice");
    }
    return 0;
}

static int check_grid(const struct vs_source *source, json_t *grid)
{
    static const char *const keys[] = {"origin", "spacing", NULL};
    struct vs_place place = {.up = source->place, .key = "grid"};

    if (vs_check_keys(source->scope->error, source->text, &place, grid, keys))
        return source->scope->error->code;
    for (int i = 0; keys[i]; i++) {
        const json_t *list = json_object_get(grid, keys[i]);
        struct vs_place at = {.up = &place, .key = keys[i]};

        if (list && !json_is_array(list))
            return vs_build_fail(source, &at, "expected an array, got %s", vs_kind_name(list));
        if (json_array_size(list) > 3)
            return vs_build_fail(source, &at, "expected at most 3 numbers");
        for (size_t j = 0; j < json_array_size(list); j++) {
            struct vs_place here = {.up = &at, .index = j};

            if (!json_is_number(json_array_get(list, j)))
                return vs_build_fail(source, &here, "expected a number, got %s",
                                     vs_kind_name(json_array_get(list, j)));
        }
    }
    return 0;
}

int vs_labels_check(const struct vs_source *source)
{
    static const char *const keys[] = {"disp", "filetype", "buftype", "memory", "shape", NULL};
    const json_t *name = json_object_get(source->view, "name");
    const json_t *dims = json_object_get(source->view, "dims");
    json_t *grid = json_object_get(source->view, "grid");
    json_t *global = json_object_get(source->view, "global");
    struct vs_place at_name = {.up = source->place, .key = "name"};
    struct vs_place at_global = {.up = source->place, .key = "global"};

    if ((name && check_name(source, name, &at_name)) || (dims && check_dims(source, dims)) ||
        (grid && check_grid(source, grid)))
        return source->scope->error->code;
    /* The values of "global" are checked when the global array is found. */
    return global ? vs_check_keys(source->scope->error, source->text, &at_global, global, keys) : 0;
}
