/* SPDX-License-Identifier: MIT */
#ifndef VS_HASH_H
#define VS_HASH_H

/* Hashes of numbers and texts, and a table by addresses. They do not resist chosen collisions. Not
   installed. */

#include <stdbool.h>
#include <stddef.h>
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

/*
 * A memo: results by the address of an object. A type that a spec names may occur in many places. A
 * walk that memoizes its results takes time in proportion to the length of the spec, however much
 * the spec describes.
 */

struct vs_memo_entry {
    const void *key; /* NULL: the entry is empty */
    const void *value;
};

/* Starts zeroed. Owns memory: free it by vs_memo_free. One thread uses it at a time. */
struct vs_memo {
    struct vs_memo_entry *entries;
    size_t room; /* a power of two, or 0 */
    size_t count;
};

/* Returns the value of key, or NULL. */
const void *vs_memo_find(const struct vs_memo *memo, const void *key);

/* Sets the value of key, which must have none yet. Returns false if out of memory. */
bool vs_memo_add(struct vs_memo *memo, const void *key, const void *value);

/* Frees the memory, and forgets all entries. */
void vs_memo_free(struct vs_memo *memo);

#endif
