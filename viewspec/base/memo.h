/* SPDX-License-Identifier: MIT */
#ifndef VS_MEMO_H
#define VS_MEMO_H

/*
 * Private to viewspec/: results by the address of an object. A type that a spec names may occur in
 * many places. A walk that memoizes its results takes time in proportion to the length of the spec,
 * however much the spec describes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vs_memo_entry {
    const void *key;
    const void *value;
    uint64_t generation; /* differs from the memo's: the entry is empty */
};

/* Starts zeroed. Owns memory: free it by vs_memo_free. One thread uses it at a time. */
struct vs_memo {
    struct vs_memo_entry *entries;
    size_t room; /* a power of two, or 0 */
    size_t count;
    uint64_t generation; /* of valid entries, less one */
};

/* Returns the value of key, or NULL. */
const void *vs_memo_find(const struct vs_memo *memo, const void *key);

/* Sets the value of key, which must have none yet. Returns false if out of memory. */
bool vs_memo_add(struct vs_memo *memo, const void *key, const void *value);

/* Forgets all entries in constant time, and keeps the memory. */
void vs_memo_clear(struct vs_memo *memo);

void vs_memo_free(struct vs_memo *memo);

#endif
