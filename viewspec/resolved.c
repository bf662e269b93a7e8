/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "members_private.h"
#include "pretty.h"
#include "spec_private.h"

/* Prints a spec as it was resolved. */

const char *const vs_spec_keys[] = {"viewspec", "file", "members", "header", "ranks",  "let",
                                    "types",    "view", "views",   "hints",  "atomic", NULL};

static bool is_printed(const char *key, bool with_file)
{
    return with_file || (strcmp(key, "file") != 0 && strcmp(key, "members") != 0);
}

char *vs_spec_resolved(const struct vs_spec *spec, bool with_file)
{
    json_t *root = json_copy(spec->root);
    json_t *let = json_copy(json_object_get(root, "let"));
    int error = 0;
    if (spec->members)
        error |= json_object_set_new(root, "members", vs_members_resolved(spec->members));
    else if (spec->file)
        error |= json_object_set_new(root, "file", json_string(spec->file));
    error |= json_object_set_new(root, "ranks", json_integer(spec->ranks));
    for (size_t i = 0; i < spec->scope.count; i++) {
        json_t *value = spec->scope.states[i] == VS_COMMON
                            ? json_integer(spec->scope.values[i])
                            : json_incref(spec->scope.bindings[i].value);
        error |= json_object_set_new(let, spec->scope.bindings[i].name, value);
    }
    if (let)
        error |= json_object_set(root, "let", let);
    json_decref(let);
    json_t *sorted = json_object();
    for (size_t i = 0; vs_spec_keys[i]; i++)
        if (json_object_get(root, vs_spec_keys[i]) && is_printed(vs_spec_keys[i], with_file))
            error |=
                json_object_set(sorted, vs_spec_keys[i], json_object_get(root, vs_spec_keys[i]));
    char *text = error ? NULL : vs_pretty(sorted);
    json_decref(sorted);
    json_decref(root);
    return text;
}
