/* SPDX-License-Identifier: MIT */
#ifndef BENCH_H
#define BENCH_H

#include <stdint.h>
#include <time.h>

/* Definitions that the benchmark programs share with scripts/bench, which makes the file. The
   64-bit word with number index holds index * BENCH_FACTOR modulo 2^64, so its value tells its
   position. */
#define BENCH_FACTOR  UINT64_C(0x9E3779B97F4A7C15)
#define BENCH_INVERSE UINT64_C(0xF1DE83E19937733D) /* the inverse of BENCH_FACTOR modulo 2^64 */

static inline uint64_t bench_word(uint64_t index)
{
    return index * BENCH_FACTOR;
}

static inline uint64_t bench_index(uint64_t word)
{
    return word * BENCH_INVERSE;
}

/* Returns seconds of a monotonic clock. */
static inline double bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/*
 * Returns a checksum of words that depends on their order. position is the number of the first word
 * in the slice.
 */
static inline uint64_t bench_sum(const uint64_t *words, uint64_t count, uint64_t position)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++)
        sum += words[i] * (2 * (position + i) + 1);
    return sum;
}

#endif
