/* SPDX-License-Identifier: MIT */
#ifndef VS_INTEGER_H
#define VS_INTEGER_H

/* Arithmetic of 64-bit integers, for viewspec/ and those who compute with its maps; not installed.
 */

#include <stdint.h>

static inline int64_t vs_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t vs_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* a / b, rounded down; b is positive. */
static inline int64_t vs_floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* a / b, rounded up; b is positive. */
static inline int64_t vs_ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b > 0);
}

/* The greatest common divisor, of any signs; that of 0 and b is |b|. 0 where it is 2^63. */
static inline int64_t vs_gcd(int64_t a, int64_t b)
{
    uint64_t x = a < 0 ? -(uint64_t)a : (uint64_t)a;
    uint64_t y = b < 0 ? -(uint64_t)b : (uint64_t)b;

    while (y) {
        uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return (int64_t)(x > INT64_MAX ? 0 : x);
}

/* a + b and a * b of numbers that are not negative, or what there is at most. */
static inline int64_t vs_add_capped(int64_t a, int64_t b)
{
    return __builtin_add_overflow(a, b, &a) ? INT64_MAX : a;
}

static inline int64_t vs_mul_capped(int64_t a, int64_t b)
{
    return __builtin_mul_overflow(a, b, &a) ? INT64_MAX : a;
}

#endif
