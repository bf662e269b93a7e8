/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <strings.h>
#include <wchar.h>

#include "viewspec/basic.h"

/* Says whether the compiler's long double has x87's format. On 64-bit Linux it is no double. */
#if LDBL_MANT_DIG == 64
#define IS_X87 1
#elif LDBL_MANT_DIG == 113
#define IS_X87 0
#else
#error "long double is neither x87's format nor IEEE binary128"
#endif

/* s390x aligns its 16 bytes to 8. */
#define LONG_DOUBLE_ALIGN _Alignof(long double)

_Static_assert(sizeof(long double) == 16, "long double has the size that the table has");
_Static_assert(sizeof(long) == 8 && sizeof(wchar_t) == 4, "the table has the sizes of LP64");

/* clang-format off */
static const struct vs_basic basics[] = {
    /* name                      kind         size ext align parts extended */
    {"packed",                   VS_BYTES,     1,  1,  1,    1,    0},
    {"byte",                     VS_BYTES,     1,  1,  1,    1,    0},
    {"char",                     VS_CHAR,      1,  1,  1,    1,    0},
    {"unsigned_char",            VS_UNSIGNED,  1,  1,  1,    1,    0},
    {"signed_char",              VS_INTEGER,   1,  1,  1,    1,    0},
    {"wchar",                    VS_UNSIGNED,  4,  2,  4,    1,    0},
    {"short",                    VS_INTEGER,   2,  2,  2,    1,    0},
    {"unsigned_short",           VS_UNSIGNED,  2,  2,  2,    1,    0},
    {"int",                      VS_INTEGER,   4,  4,  4,    1,    0},
    {"unsigned",                 VS_UNSIGNED,  4,  4,  4,    1,    0},
    {"long",                     VS_INTEGER,   8,  4,  8,    1,    0},
    {"unsigned_long",            VS_UNSIGNED,  8,  4,  8,    1,    0},
    {"long_long_int",            VS_INTEGER,   8,  8,  8,    1,    0},
    {"unsigned_long_long",       VS_UNSIGNED,  8,  8,  8,    1,    0},
    {"float",                    VS_FLOAT,     4,  4,  4,    1,    0},
    {"double",                   VS_FLOAT,     8,  8,  8,    1,    0},
    {"long_double",              VS_FLOAT,    16, 16, LONG_DOUBLE_ALIGN, 1, IS_X87},
    {"c_bool",                   VS_LOGICAL,   1,  1,  1,    1,    0},
    {"int8_t",                   VS_INTEGER,   1,  1,  1,    1,    0},
    {"int16_t",                  VS_INTEGER,   2,  2,  2,    1,    0},
    {"int32_t",                  VS_INTEGER,   4,  4,  4,    1,    0},
    {"int64_t",                  VS_INTEGER,   8,  8,  8,    1,    0},
    {"uint8_t",                  VS_UNSIGNED,  1,  1,  1,    1,    0},
    {"uint16_t",                 VS_UNSIGNED,  2,  2,  2,    1,    0},
    {"uint32_t",                 VS_UNSIGNED,  4,  4,  4,    1,    0},
    {"uint64_t",                 VS_UNSIGNED,  8,  8,  8,    1,    0},
    {"aint",                     VS_INTEGER,   8,  8,  8,    1,    0},
    {"count",                    VS_INTEGER,   8,  8,  8,    1,    0},
    {"offset",                   VS_INTEGER,   8,  8,  8,    1,    0},
    {"c_complex",                VS_FLOAT,     8,  8,  4,    2,    0},
    {"c_double_complex",         VS_FLOAT,    16, 16,  8,    2,    0},
    {"c_long_double_complex",    VS_FLOAT,    32, 32, LONG_DOUBLE_ALIGN, 2, IS_X87},
    {"character",                VS_CHAR,      1,  1,  1,    1,    0},
    {"logical",                  VS_LOGICAL,   4,  4,  4,    1,    0},
    {"integer",                  VS_INTEGER,   4,  4,  4,    1,    0},
    {"real",                     VS_FLOAT,     4,  4,  4,    1,    0},
    {"double_precision",         VS_FLOAT,     8,  8,  8,    1,    0},
    {"complex",                  VS_FLOAT,     8,  8,  4,    2,    0},
    {"double_complex",           VS_FLOAT,    16, 16,  8,    2,    0},
    {"integer1",                 VS_INTEGER,   1,  1,  1,    1,    0},
    {"integer2",                 VS_INTEGER,   2,  2,  2,    1,    0},
    {"integer4",                 VS_INTEGER,   4,  4,  4,    1,    0},
    {"integer8",                 VS_INTEGER,   8,  8,  8,    1,    0},
    {"integer16",                VS_INTEGER,  16, 16, 16,    1,    0},
    {"real2",                    VS_FLOAT,     2,  2,  2,    1,    0},
    {"real4",                    VS_FLOAT,     4,  4,  4,    1,    0},
    {"real8",                    VS_FLOAT,     8,  8,  8,    1,    0},
    {"real16",                   VS_FLOAT,    16, 16, 16,    1,    0},
    {"complex4",                 VS_FLOAT,     4,  4,  2,    2,    0},
    {"complex8",                 VS_FLOAT,     8,  8,  4,    2,    0},
    {"complex16",                VS_FLOAT,    16, 16,  8,    2,    0},
    {"complex32",                VS_FLOAT,    32, 32, 16,    2,    0},
    {"cxx_bool",                 VS_LOGICAL,   1,  1,  1,    1,    0},
    {"cxx_float_complex",        VS_FLOAT,     8,  8,  4,    2,    0},
    {"cxx_double_complex",       VS_FLOAT,    16, 16,  8,    2,    0},
    {"cxx_long_double_complex",  VS_FLOAT,    32, 32, LONG_DOUBLE_ALIGN, 2, IS_X87},
};
/* clang-format on */

_Static_assert(sizeof(basics) / sizeof(basics[0]) == VS_BASICS, "VS_BASICS counts the table");

const struct vs_basic *vs_basic_at(size_t index)
{
    return index < VS_BASICS ? &basics[index] : NULL;
}

size_t vs_basic_number(const struct vs_basic *basic)
{
    return (size_t)(basic - basics);
}

const struct vs_basic *vs_basic_find(const char *name)
{
    static const char *const synonyms[][2] = {
        {"long_long", "long_long_int"},
        {"c_float_complex", "c_complex"},
    };
    const struct vs_basic *basic;

    if (strncasecmp(name, "MPI_", 4) == 0)
        name += 4;
    for (size_t i = 0; i < sizeof(synonyms) / sizeof(synonyms[0]); i++)
        if (strcasecmp(synonyms[i][0], name) == 0)
            name = synonyms[i][1];
    for (size_t i = 0; (basic = vs_basic_at(i)); i++)
        if (strcasecmp(basic->name, name) == 0)
            return basic;
    return NULL;
}
