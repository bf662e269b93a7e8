/* SPDX-License-Identifier: MIT */
#ifndef SHARED_RANDOM_H
#define SHARED_RANDOM_H

#include <stdint.h>

/* Returns the next number of a pseudorandom series (splitmix64). Any state is a valid start. */
static inline uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

#endif
