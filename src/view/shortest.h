/* SPDX-License-Identifier: MIT */
#ifndef VIEW_SHORTEST_H
#define VIEW_SHORTEST_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The shortest decimal digits that read back as the same binary floating-point number, and of
 * these the ones that are nearest to it. Thread-safe.
 */

__extension__ typedef unsigned __int128 view_uint128;

/* significand * 2^exponent, not 0. Up to 113 bits, exponents as those of IEEE binary128. */
struct view_binary {
    view_uint128 significand;
    int exponent;
    bool closer; /* the next lower number is half as far as the next higher one */
};

/* 0.DIGITS * 10^point: no leading and no trailing zero. */
struct view_decimal {
    int count;
    int point;
    char digits[40]; /* count of them, as characters; not terminated */
};

/* Numbers of up to 53 bits with exponents of binary64 take some tens of nanoseconds. */
void view_shortest(const struct view_binary *binary, struct view_decimal *decimal);

/* The same by exact arithmetic on long integers, for all numbers. */
void view_shortest_exact(const struct view_binary *binary, struct view_decimal *decimal);

#endif
