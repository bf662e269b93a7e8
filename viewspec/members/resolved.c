/* SPDX-License-Identifier: MIT */
#include "members.h"

#include <string.h>

#include "members_private.h"
#include "viewspec/text/json.h"
#include "viewspec/spec_private.h"

/* Prints a spec in its resolved form. */

const char *const vs_spec_keys[] = {"viewspec", "file", "members", "header", "ranks",  "let",
                                    "types",    "view", "views",   "hints",  "atomic", NULL};

/* Filters for the keys that are printed. */
static bool is_anything(const char *key)
{
    (void)key;
    return true;
}

static bool is_without_file(const char *key)
{
    return strcmp(key, "file") != 0;
}

static bool is_of_members(const char *key)
{
    return strcmp(key, "viewspec") == 0 || strcmp(key, "members") == 0 || strcmp(key, "let") == 0 ||
           strcmp(key, "types") == 0;
}

/*
 * Returns the value of a name of "let" if it is the same for all ranks and members, else its
 * expression. A new reference.
 */
static json_t *resolve(const struct vs_spec *spec, size_t i)
{
    const struct vs_scope *scope = &spec->scope;
    const struct vs_scope *members = spec->members ? &spec->members->views->scope : scope;

    if (scope->states[i] == VS_COMMON && members->states[i] == VS_COMMON &&
        scope->values[i] == members->values[i])
        return json_integer(scope->values[i]);
    return json_incref(scope->bindings[i].value);
}

static json_t *resolve_members(const struct vs_spec *spec, bool with_names)
{
    json_t *members = vs_members_resolved(spec->members);

    if (!with_names) {
        json_object_del(members, "file");
        json_object_del(members, "files");
    }
    return members;
}

static char *print(const struct vs_spec *spec, bool (*is_printed)(const char *key))
{
    json_t *root = json_copy(spec->root);
    json_t *let = json_copy(json_object_get(root, "let"));
    int error = 0;
    json_t *sorted;
    char *text;

    if (spec->members)
        error |= json_object_set_new(root, "members",
                                     resolve_members(spec, is_printed != is_without_file));
    else if (spec->file)
        error |= json_object_set_new(root, "file", json_string(spec->file));
    error |= json_object_set_new(root, "ranks", json_integer(spec->ranks));
    for (size_t i = 0; i < spec->scope.count; i++)
        error |= json_object_set_new(let, spec->scope.bindings[i].name, resolve(spec, i));
    if (let)
        error |= json_object_set(root, "let", let);
    json_decref(let);
    sorted = json_object();
    for (size_t i = 0; vs_spec_keys[i]; i++)
        if (json_object_get(root, vs_spec_keys[i]) && is_printed(vs_spec_keys[i]))
            error |=
                json_object_set(sorted, vs_spec_keys[i], json_object_get(root, vs_spec_keys[i]));
    text = error ? NULL : vs_pretty(sorted);
    json_decref(sorted);
    json_decref(root);
    return text;
}

char *vs_spec_resolved(const struct vs_spec *spec, bool with_file)
{
    return print(spec, with_file ? is_anything : is_without_file);
}

char *vs_members_spec(const struct vs_spec *spec)
{
    return print(spec, is_of_members);
}
