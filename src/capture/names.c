/* SPDX-License-Identifier: MIT */
#include "names.h"

#include <stddef.h>

struct name {
    MPI_Datatype type;
    const char *name;
};

/* A type that a library lacks is MPI_DATATYPE_NULL, which no view has. */
static const struct name names[] = {
    {MPI_PACKED, "packed"},
    {MPI_BYTE, "byte"},
    {MPI_CHAR, "char"},
    {MPI_UNSIGNED_CHAR, "unsigned_char"},
    {MPI_SIGNED_CHAR, "signed_char"},
    {MPI_WCHAR, "wchar"},
    {MPI_SHORT, "short"},
    {MPI_UNSIGNED_SHORT, "unsigned_short"},
    {MPI_INT, "int"},
    {MPI_UNSIGNED, "unsigned"},
    {MPI_LONG, "long"},
    {MPI_UNSIGNED_LONG, "unsigned_long"},
    {MPI_LONG_LONG_INT, "long_long_int"},
    {MPI_UNSIGNED_LONG_LONG, "unsigned_long_long"},
    {MPI_FLOAT, "float"},
    {MPI_DOUBLE, "double"},
    {MPI_LONG_DOUBLE, "long_double"},
    {MPI_C_BOOL, "c_bool"},
    {MPI_INT8_T, "int8_t"},
    {MPI_INT16_T, "int16_t"},
    {MPI_INT32_T, "int32_t"},
    {MPI_INT64_T, "int64_t"},
    {MPI_UINT8_T, "uint8_t"},
    {MPI_UINT16_T, "uint16_t"},
    {MPI_UINT32_T, "uint32_t"},
    {MPI_UINT64_T, "uint64_t"},
    {MPI_AINT, "aint"},
    {MPI_COUNT, "count"},
    {MPI_OFFSET, "offset"},
    {MPI_C_COMPLEX, "c_complex"},
    {MPI_C_DOUBLE_COMPLEX, "c_double_complex"},
    {MPI_C_LONG_DOUBLE_COMPLEX, "c_long_double_complex"},
    {MPI_CHARACTER, "character"},
    {MPI_LOGICAL, "logical"},
    {MPI_INTEGER, "integer"},
    {MPI_REAL, "real"},
    {MPI_DOUBLE_PRECISION, "double_precision"},
    {MPI_COMPLEX, "complex"},
    {MPI_DOUBLE_COMPLEX, "double_complex"},
    {MPI_INTEGER1, "integer1"},
    {MPI_INTEGER2, "integer2"},
    {MPI_INTEGER4, "integer4"},
    {MPI_INTEGER8, "integer8"},
    {MPI_INTEGER16, "integer16"},
    {MPI_REAL4, "real4"},
    {MPI_REAL8, "real8"},
    {MPI_REAL16, "real16"},
    {MPI_COMPLEX8, "complex8"},
    {MPI_COMPLEX16, "complex16"},
    {MPI_COMPLEX32, "complex32"},
    {MPI_CXX_BOOL, "cxx_bool"},
    {MPI_CXX_FLOAT_COMPLEX, "cxx_float_complex"},
    {MPI_CXX_DOUBLE_COMPLEX, "cxx_double_complex"},
    {MPI_CXX_LONG_DOUBLE_COMPLEX, "cxx_long_double_complex"},
};

static const struct capture_pair pairs[] = {
    {MPI_FLOAT_INT, "float", "int", 4},
    {MPI_DOUBLE_INT, "double", "int", 8},
    {MPI_LONG_INT, "long", "int", 8},
    {MPI_SHORT_INT, "short", "int", 4},
    {MPI_2INT, "int", "int", 4},
    {MPI_LONG_DOUBLE_INT, "long_double", "int", 16},
    {MPI_2INTEGER, "integer", "integer", 4},
    {MPI_2REAL, "real", "real", 4},
    {MPI_2DOUBLE_PRECISION, "double_precision", "double_precision", 8},
};

const char *capture_basic_name(MPI_Datatype type)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (names[i].type == type)
            return names[i].name;
    return NULL;
}

const struct capture_pair *capture_pair(MPI_Datatype type)
{
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
        if (pairs[i].type == type)
            return &pairs[i];
    return NULL;
}
