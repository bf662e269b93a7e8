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

/* Checks that a string is a label. */
static int check_label(struct vs_scope *scope, const json_t *value, const struct vs_place *place)
{
    const char *name = json_string_value(value);

    if (name == NULL)
        return vs_refuse(scope, place, "expected a string, got %s", vs_kind_name(value));
    return vs_is_label(name) ? 0
                             : vs_refuse(scope, place,
                                         "a name is a letter or _, then letters, digits, _, - and "
                                         ".");
}

static int check_dims(const struct vs_source *source)
{
    struct vs_scope *scope = source->scope;
    const struct vs_place *place = VS_KEY(source->place, "dims");
    json_t *dims = vs_scope_member(scope, source->place, source->view, "dims", JSON_ARRAY), *name;
    size_t i;

    if (json_array_size(dims) > VS_GLOBAL_DIMENSIONS)
        return vs_refuse(scope, place, "%zu names: an array has at most %d", json_array_size(dims),
                         VS_GLOBAL_DIMENSIONS);
    json_array_foreach(dims, i, name)
    {
        if (check_label(scope, name, VS_ITEM(place, i)))
            return scope->error->code;
        for (size_t j = 0; j < i; j++)
            if (json_equal(name, json_array_get(dims, j)))
                return vs_refuse(scope, VS_ITEM(place, i), "the name occurs twice");
    }
    return scope->error->code;
}

static int check_grid(struct vs_scope *scope, const struct vs_place *place, json_t *grid)
{
    static const char *const keys[] = {"origin", "spacing", NULL};

    if (vs_check_keys(scope, place, grid, keys))
        return scope->error->code;
    for (int i = 0; keys[i]; i++) {
        const struct vs_place *at = VS_KEY(place, keys[i]);
        json_t *list = vs_scope_member(scope, place, grid, keys[i], JSON_ARRAY), *number;
        size_t j;

        if (json_array_size(list) > 3)
            return vs_refuse(scope, at, "expected at most 3 numbers");
        json_array_foreach(list, j, number)
        {
            if (!json_is_number(number))
                return vs_refuse(scope, VS_ITEM(at, j), "expected a number, got %s",
                                 vs_kind_name(number));
        }
    }
    return scope->error->code;
}

int vs_labels_check(const struct vs_source *source)
{
    static const char *const keys[] = {"disp", "filetype", "buftype", "memory", "shape", NULL};
    const json_t *name = json_object_get(source->view, "name");
    json_t *grid = json_object_get(source->view, "grid");
    json_t *global = json_object_get(source->view, "global");
    struct vs_scope *scope = source->scope;

    if ((name && check_label(scope, name, VS_KEY(source->place, "name"))) || check_dims(source) ||
        (grid && check_grid(scope, VS_KEY(source->place, "grid"), grid)))
        return scope->error->code;
    /* The values of "global" are checked when the global array is found. */
    return global ? vs_check_keys(scope, VS_KEY(source->place, "global"), global, keys) : 0;
}
