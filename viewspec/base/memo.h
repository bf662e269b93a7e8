/* SPDX-License-Identifier: MIT */
#ifndef VS_MEMO_H
#define VS_MEMO_H

/*
 * Private to viewspec/: what was found out for an object, by its address. A type that a spec
 * names stands in as many places as its name does; a walk that remembers where it was takes as
 * many steps as the spec is long, whatever it describes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vs_memo_entry {
    const void *key;
    const void *value;
    uint64_t generation; /* another than the memo's: nothing is here */
};

/* Starts zeroed. Holds memory: vs_memo_free. One thread uses it at a time. */
struct vs_memo {
    struct vs_memo_entry *entries;
    size_t room; /* a power of two, or 0 */
    size_t count;
    uint64_t generation; /* less one */
};

/* The value of key, or NULL. */
const void *vs_memo_find(const struct vs_memo *memo, const void *key);

/* Sets the value of key, which has none yet. False without memory. */
bool vs_memo_add(struct vs_memo *memo, const void *key, const void *value);

/* Forgets all, in no time; the memory is kept. */
void vs_memo_clear(struct vs_memo *memo);

void vs_memo_free(struct vs_memo *memo);

#endif
