/* SPDX-License-Identifier: MIT */
#include "hints_private.h"

#include "viewspec/spec_private.h"

/* The spec's "hints" for MPI. They are checked here, and passed on unchanged. */

int vs_hints_check(const struct vs_text *text, json_t *root, struct vs_error *error)
{
    const char *key;
    json_t *value;
    struct vs_place hints = {.key = "hints"}, place = {.up = &hints};
    json_object_foreach(json_object_get(root, "hints"), key, value)
    {
        place.key = key;
        if (!json_is_string(value))
            return vs_fail(error, text, &place, false, "expected a string, got %s",
                           vs_kind_name(value));
    }
    return 0;
}

bool vs_spec_hint(const struct vs_spec *spec, size_t index, const char **key, const char **value)
{
    json_t *hints = json_object_get(spec->root, "hints"), *hint;
    json_object_foreach(hints, *key, hint)
    {
        *value = json_string_value(hint);
        if (!index--)
            return true;
    }
    return false;
}
