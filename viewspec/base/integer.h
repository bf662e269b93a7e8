/* SPDX-License-Identifier: MIT */
#ifndef VS_INTEGER_H
#define VS_INTEGER_H

/* Arithmetic of 64-bit integers, and binary search. For viewspec/ and for code that computes with
   its maps. Not installed. */

#include <stdint.h>

static inline int64_t vs_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t vs_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Returns a negative number, 0 or a positive number, as qsort(3) expects of a comparison. */
static inline int vs_compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Returns a / b, rounded down; b is positive. */
static inline int64_t vs_floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Returns a / b, rounded up; b is positive. */
static inline int64_t vs_ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b > 0);
}

/* Returns the greatest common divisor, for any signs; |b| if a is 0. 0 if the result is 2^63. */
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

/* Return a + b and a * b of numbers that are not negative, or INT64_MAX if they are larger. */
static inline int64_t vs_add_capped(int64_t a, int64_t b)
{
    return __builtin_add_overflow(a, b, &a) ? INT64_MAX : a;
}

static inline int64_t vs_mul_capped(int64_t a, int64_t b)
{
    return __builtin_mul_overflow(a, b, &a) ? INT64_MAX : a;
}

/*
 * Finds the first number i in [low, high) for which the condition, an expression with i, is true;
 * high if there is none. The condition must be true for all later ones. Evaluates low and high
 * once.
 */
#define VS_FIRST(i, low, high, condition)                                                          \
    __extension__({                                                                                \
        int64_t vs_low = (low), vs_high = (high);                                                  \
                                                                                                   \
        while (vs_low < vs_high) {                                                                 \
            const int64_t i = vs_low + (vs_high - vs_low) / 2;                                     \
            if (condition)                                                                         \
                vs_high = i;                                                                       \
            else                                                                                   \
                vs_low = i + 1;                                                                    \
        }                                                                                          \
        vs_low;                                                                                    \
    })

#endif
