/* SPDX-License-Identifier: MIT */
#ifndef RANDOM_H
#define RANDOM_H

/* Random numbers and bytes of the C library's generator. */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Returns a random number from 0 to limit - 1. */
static inline int below(int limit)
{
    return rand() % limit;
}

static inline uint64_t random_bits(void)
{
    return (uint64_t)rand() << 42 ^ (uint64_t)rand() << 21 ^ (uint64_t)rand();
}

static inline void fill_randomly(void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        ((unsigned char *)bytes)[i] = (unsigned char)rand();
}

#endif
