/* SPDX-License-Identifier: MIT */
#include "keys.h"

#include <errno.h>
#include <string.h>

#include "scope.h"

int vs_check_keys(struct vs_error *error, const struct vs_text *text, const struct vs_place *place,
                  json_t *object, const char *const *keys)
{
    if (!json_is_object(object))
        return vs_fail(error, text, place, false, "expected an object, got %s",
                       vs_kind_name(object));
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        size_t i = 0;
        while (keys[i] && strcmp(keys[i], key) != 0)
            i++;
        struct vs_place here = {.up = place, .key = key};
        if (!keys[i])
            return vs_fail(error, text, &here, true, "unknown key");
    }
    return 0;
}

int vs_check_arena(struct vs_arena *arena, struct vs_error *error, const struct vs_text *text,
                   const struct vs_place *place)
{
    if (!arena->failure)
        return 0;
    if (arena->failure == -EOVERFLOW)
        return vs_fail(error, text, place, false, "the type exceeds 2^63-1 bytes");
    return vs_fail_memory(error, text);
}
