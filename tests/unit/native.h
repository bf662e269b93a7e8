/* SPDX-License-Identifier: MIT */
#ifndef NATIVE_H
#define NATIVE_H

/* The machine that tests run on: the order of its bytes, and its numbers of 16 bytes. */

#include <float.h>
#include <stdbool.h>
#include <stddef.h>

#define NATIVE_IS_BIG (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

/* IEEE binary128, which is long double on many machines; elsewhere the compiler has another word.
 */
#if LDBL_MANT_DIG == 113
typedef long double quad;
#elif defined(__SIZEOF_FLOAT128__)
__extension__ typedef __float128 quad;
#endif

/* The place of byte number i of a value of 8 bytes. Byte 0 is the least significant one. */
#define BYTE(i) (NATIVE_IS_BIG ? 7 - (i) : (i))

/* Turns each value of size bytes around. */
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
