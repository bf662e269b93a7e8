/* SPDX-License-Identifier: MIT */
#include "members.h"

#include <stdlib.h>
#include <string.h>

#include "members_private.h"
#include "viewspec/text/json.h"
#include "viewspec/spec_private.h"

/* Prints a spec in its resolved form. */

const char *const vs_spec_keys[] = {"viewspec", "file", "members", "header", "ranks",  "let",
                                    "types",    "view", "views",   "hints",  "atomic", NULL};

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

/* Returns the JSON of the members, with absolute names or without names. A new reference; NULL: out
   of memory. */
static json_t *resolve_members(const struct vs_members *members, bool with_names)
{
    json_t *copy = json_copy(members->json), *names;
    int failed = json_object_set_new(copy, "count", json_integer(members->count));

    if (!with_names) {
        json_object_del(copy, "file");
        json_object_del(copy, "files");
    } else if (members->pattern.text && !strchr(members->folder, '{')) {
        /* Braces in the folder's name would become part of the pattern. */
        char *path = vs_path_from(members->folder, members->pattern.text);

        failed |= json_object_set_new(copy, "file", path ? json_string(path) : NULL);
        free(path);
    } else {
        names = json_array();
        json_object_del(copy, "file");
        for (int64_t i = 0; i < members->count; i++) {
            char *path = vs_members_file(members, i);

            failed |= json_array_append_new(names, path ? json_string(path) : NULL);
            free(path);
        }
        failed |= json_object_set_new(copy, "files", names);
    }
    if (failed) {
        json_decref(copy);
        return NULL;
    }
    return copy;
}

static char *print(const struct vs_spec *spec, const char *const *keys, bool with_file)
{
    json_t *root = json_copy(spec->root);
    json_t *let = json_copy(json_object_get(root, "let"));
    int error = 0;
    json_t *sorted;
    char *text;

    if (spec->members)
        error |= json_object_set_new(root, "members", resolve_members(spec->members, with_file));
    else if (spec->file)
        error |= json_object_set_new(root, "file", json_string(spec->file));
    if (!with_file)
        json_object_del(root, "file");
    error |= json_object_set_new(root, "ranks", json_integer(spec->ranks));
    for (size_t i = 0; i < spec->scope.count; i++)
        error |= json_object_set_new(let, spec->scope.bindings[i].name, resolve(spec, i));
    if (let)
        error |= json_object_set(root, "let", let);
    json_decref(let);
    sorted = json_object();
    for (; *keys; keys++)
        if (json_object_get(root, *keys))
            error |= json_object_set(sorted, *keys, json_object_get(root, *keys));
    text = error ? NULL : vs_pretty(sorted);
    json_decref(sorted);
    json_decref(root);
    return text;
}

char *vs_spec_resolved(const struct vs_spec *spec, bool with_file)
{
    return print(spec, vs_spec_keys, with_file);
}

char *vs_members_spec(const struct vs_spec *spec)
{
    static const char *const keys[] = {"viewspec", "members", "let", "types", NULL};

    return print(spec, keys, true);
}
