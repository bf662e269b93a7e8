/* SPDX-License-Identifier: MIT */
#include "element.h"

#include <stddef.h>

/* The name in a table of sizes, or NULL. */
static json_t *named(const char *const *names, int64_t size)
{
    const char *name = size > 0 && size <= 32 ? names[size] : NULL;

    return name ? json_string(name) : NULL;
}

json_t *from_integer(int64_t size, bool is_signed)
{
    static const char *const with[33] = {
        [1] = "int8_t", [2] = "int16_t", [4] = "int32_t", [8] = "int64_t"};
    static const char *const without[33] = {
        [1] = "uint8_t", [2] = "uint16_t", [4] = "uint32_t", [8] = "uint64_t"};

    return named(is_signed ? with : without, size);
}

json_t *from_float(int64_t size)
{
    static const char *const names[33] = {
        [2] = "real2", [4] = "float", [8] = "double", [sizeof(long double)] = "long_double"};

    return named(names, size);
}

json_t *from_complex(int64_t size)
{
    static const char *const names[33] = {[8] = "c_complex",
                                          [16] = "c_double_complex",
                                          [2 * sizeof(long double)] = "c_long_double_complex"};

    return named(names, size);
}

json_t *from_number(char kind, int64_t size)
{
    return kind == 'f'   ? from_float(size)
           : kind == 'c' ? from_complex(size)
                         : from_integer(size, kind == 'i');
}

json_t *from_several(json_t *type, int64_t count)
{
    if (count == 1)
        return type;
    return json_pack("{s:s, s:I, s:o}", "type", "contiguous", "count", (json_int_t)count, "oldtype",
                     type);
}

json_t *from_spaced(json_t *type, int64_t extent)
{
    return json_pack("{s:s, s:i, s:I, s:o}", "type", "resized", "lb", 0, "extent",
                     (json_int_t)extent, "oldtype", type);
}

json_t *from_struct(void)
{
    return json_pack("{s:s, s:[], s:[], s:[]}", "type", "struct", "blocklengths", "displacements",
                     "types");
}

int from_member(json_t *structure, int64_t displacement, json_t *type)
{
    return json_array_append_new(json_object_get(structure, "blocklengths"), json_integer(1)) |
           json_array_append_new(json_object_get(structure, "displacements"),
                                 json_integer(displacement)) |
           json_array_append_new(json_object_get(structure, "types"), type);
}

bool from_order(char *order, char more)
{
    if (!*order)
        *order = more;
    return !more || *order == more;
}

const char *from_datarep(char order)
{
    return order == '<' ? "little-endian" : order == '>' ? "big-endian" : NULL;
}
