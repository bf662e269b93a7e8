/* SPDX-License-Identifier: MIT */
#ifndef VS_BASIC_H
#define VS_BASIC_H

/*
 * The basic types of MPI 3.1, table 13.2. All functions are local and thread-safe; what they
 * return is constant and never freed.
 */

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* The number of basic types. They are numbered 0 .. VS_BASICS - 1 in the order of the table. */
#define VS_BASICS 56

enum vs_basic_kind {
    VS_BYTES, /* never converted: byte, packed */
    VS_CHAR,
    VS_INTEGER,
    VS_UNSIGNED,
    VS_LOGICAL,
    VS_FLOAT, /* IEEE binary format of that size; for 16 native bytes see extended */
};

struct vs_basic {
    const char *name; /* lower case, without MPI_ */
    enum vs_basic_kind kind;
    uint8_t size;     /* native bytes, by the C compiler of a 64-bit Linux */
    uint8_t external; /* bytes in external32 */
    uint8_t align;    /* native alignment, which a struct is padded to */
    uint8_t parts;    /* numbers in a value: 2 for the complex types */
    uint8_t extended; /* 1: a native part is the 80-bit x87 format in 16 bytes */
};

/* Returns the type of that name, with or without "MPI_", in any case; NULL if there is none. */
const struct vs_basic *vs_basic_find(const char *name);

/* Returns type number index; NULL from VS_BASICS on. */
const struct vs_basic *vs_basic_at(size_t index);

/* Returns the number of a type that one of the functions above has returned. */
size_t vs_basic_number(const struct vs_basic *basic);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
