/* SPDX-License-Identifier: MIT */
#ifndef VS_HASH_H
#define VS_HASH_H

/* Hashes of numbers and texts. They do not resist chosen collisions. Not installed. */

#include <stdint.h>

#define VS_HASH_START UINT64_C(0xcbf29ce484222325)

/* Mixes a number into a hash. For the same hash, different numbers give different results. */
static inline uint64_t vs_hash_mix(uint64_t hash, uint64_t number)
{
    hash = (hash ^ number) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* Mixes the bytes of a string into a hash. */
static inline uint64_t vs_hash_text(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++)
        hash = vs_hash_mix(hash, (unsigned char)*text);
    return hash;
}

#endif
