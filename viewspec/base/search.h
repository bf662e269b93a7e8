/* SPDX-License-Identifier: MIT */
#ifndef VS_SEARCH_H
#define VS_SEARCH_H

/* Binary search. Not installed. */

#include <stdint.h>

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
