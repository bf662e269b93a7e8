/* SPDX-License-Identifier: MIT */
#include "local_array.h"

int vs_local_array(const struct vs_source *source, json_t *value, const struct vs_place *place,
                   struct vs_arena *arena, const struct vs_array *whole,
                   const struct vs_array **result)
{
    struct vs_error *error = source->scope->error;
    if (!json_is_array(value))
        return vs_fail(error, source->text, place, false, "expected an array, got %s",
                       vs_kind_name(value));
    int64_t dimensions = (int64_t)json_array_size(value), product = 1;
    int64_t *sizes = vs_arena_array(arena, dimensions, sizeof(*sizes));
    struct vs_array *array = vs_arena_alloc(arena, sizeof(*array));
    if (sizes == NULL || array == NULL)
        return vs_fail_memory(error, source->text);
    bool over = false;
    for (int64_t i = 0; i < dimensions; i++) {
        struct vs_place entry = {.up = place, .index = (size_t)i};
        json_t *size = json_array_get(value, (size_t)i);
        if (vs_scope_integer(source->scope, source->text, &entry, size, &sizes[i]))
            return error->code;
        if (sizes[i] < 0)
            return vs_fail(error, source->text, &entry, false, "must not be negative");
        over |= __builtin_mul_overflow(product, sizes[i], &product);
    }
    if (over || product != whole->etypes)
        return vs_fail(error, source->text, place, false,
                       "the array does not have as many elements as a tile has etypes, %lld",
                       (long long)whole->etypes);
    *array = (struct vs_array){.dimensions = dimensions,
                               .sizes = sizes,
                               .owned = sizes,
                               .element = whole->element,
                               .etypes = 1};
    *result = array;
    return 0;
}
