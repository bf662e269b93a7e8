/* SPDX-License-Identifier: MIT */
#ifndef NATIVE_H
#define NATIVE_H

/* The machine that the tests run on: its byte order, and its numbers of 16 bytes. */

#include <float.h>
#include <stdbool.h>
#include <stddef.h>

#define NATIVE_IS_BIG (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

/* IEEE binary128. On many machines long double is that; elsewhere the compiler has a type of its
   own. */
#if LDBL_MANT_DIG == 113
typedef long double quad;
#elif defined(__SIZEOF_FLOAT128__)
__extension__ typedef __float128 quad;
#endif

/* The offset of byte number i in a value of 8 bytes. Byte 0 is the least significant one. */
#define BYTE(i) (NATIVE_IS_BIG ? 7 - (i) : (i))

/* Reverses the bytes of each value of size bytes. */
static inline void reverse_each(unsigned char *values, size_t length, size_t size)
{
    for (size_t at = 0; at + size <= length; at += size) {
        for (size_t i = 0; i < size / 2; i++) {
            unsigned char byte = values[at + i];

            values[at + i] = values[at + size - 1 - i];
            values[at + size - 1 - i] = byte;
        }
    }
}

#endif
