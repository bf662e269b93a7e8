/* SPDX-License-Identifier: MIT */
#ifndef RANDOM_H
#define RANDOM_H

/* Random numbers and bytes of the C library's generator. */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Seeds the generator with MPIIO_TEST_SEED, or else with `usual`. Prints the seed. */
static inline void start_random(unsigned usual)
{
    const char *text = getenv("MPIIO_TEST_SEED");
    unsigned seed = text ? (unsigned)strtoul(text, NULL, 10) : usual;

    printf("# seed %u (MPIIO_TEST_SEED)\n", seed);
    srand(seed);
}

/* Returns a random number from 0 to limit - 1. */
static inline int below(int limit)
{
    return rand() % limit;
}

static inline uint64_t random_bits(void)
{
    return (uint64_t)rand() << 42 ^ (uint64_t)rand() << 21 ^ (uint64_t)rand();
}

/* Fills memory with random bytes: a xorshift generator takes a tenth of the time of rand(). */
static inline void fill_randomly(void *bytes, size_t length)
{
    uint64_t state = random_bits() | 1;

    for (size_t i = 0; i < length; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((unsigned char *)bytes)[i] = (unsigned char)(state >> 56);
    }
}

#endif
