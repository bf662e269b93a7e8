/* SPDX-License-Identifier: MIT */
#include "local_array.h"

/* Counts the etypes that fill a tile of the slice. Returns 0, or the code of an error. */
static int count_etypes(const struct vs_source *source, const struct vs_place *place,
                        const struct vs_slice_tile *tile, int64_t *count)
{
    const struct vs_order *order = tile->order;
    int64_t size = tile->facts->etype_size;

    *count = order ? order->extent / size : tile->etypes;
    if (order && order->grain % size)
        return vs_fail(source->scope->error, source->text, place, false,
                       "a tile of the slice, %lld bytes with its gaps, is not an array of etypes "
                       "of %lld bytes (leave out \"shape\")",
                       (long long)order->extent, (long long)size);
    return 0;
}

/* Fails if the array does not have as many elements as the tile has etypes. */
static int check_product(const struct vs_source *source, const struct vs_place *place,
                         const struct vs_slice_tile *tile, int64_t product, int64_t etypes)
{
    if (product == etypes)
        return 0;
    return vs_fail(source->scope->error, source->text, place, false,
                   tile->order ? "the array has %lld elements, a tile of the slice has "
                                 "%lld with its gaps"
                               : "the array has %lld elements, a tile has %lld etypes",
                   (long long)product, (long long)etypes);
}

int vs_local_array(const struct vs_source *source, json_t *value, const struct vs_place *place,
                   struct vs_arena *arena, const struct vs_slice_tile *tile,
                   const struct vs_array **result)
{
    struct vs_error *error = source->scope->error;
    if (!json_is_array(value))
        return vs_fail(error, source->text, place, false, "expected an array, got %s",
                       vs_kind_name(value));
    int64_t dimensions = (int64_t)json_array_size(value), product = 1, etypes;
    int64_t *sizes = vs_arena_array(arena, dimensions, sizeof(*sizes));
    struct vs_array *array = vs_arena_alloc(arena, sizeof(*array));
    if (sizes == NULL || array == NULL)
        return vs_fail_memory(error, source->text);
    for (int64_t i = 0; i < dimensions; i++) {
        struct vs_place entry = {.up = place, .index = (size_t)i};
        json_t *size = json_array_get(value, (size_t)i);
        if (vs_scope_integer(source->scope, source->text, &entry, size, &sizes[i]))
            return error->code;
        if (sizes[i] < 0)
            return vs_fail(error, source->text, &entry, false, "must not be negative");
        if (__builtin_mul_overflow(product, sizes[i], &product))
            return vs_fail(error, source->text, place, false,
                           "the array has more than 2^63-1 elements");
    }
    if (count_etypes(source, place, tile, &etypes) ||
        check_product(source, place, tile, product, etypes))
        return error->code;
    *array = (struct vs_array){.dimensions = dimensions,
                               .sizes = sizes,
                               .owned = sizes,
                               .element = tile->facts->etype_extent,
                               .etypes = 1};
    *result = array;
    return 0;
}
