/* SPDX-License-Identifier: MIT */
#include "hash.h"

#include <stdlib.h>

/* Returns the entry of key, or the empty one for it. There is always an empty one. */
static struct vs_memo_entry *look_up(const struct vs_memo *memo, const void *key)
{
    size_t slot = (size_t)vs_hash_mix(VS_HASH_START, (uintptr_t)key) & (memo->room - 1);

    while (memo->entries[slot].key != NULL && memo->entries[slot].key != key)
        slot = (slot + 1) & (memo->room - 1);
    return &memo->entries[slot];
}

const void *vs_memo_find(const struct vs_memo *memo, const void *key)
{
    return memo->count ? look_up(memo, key)->value : NULL;
}

static bool grow(struct vs_memo *memo)
{
    struct vs_memo larger = {.room = memo->room ? memo->room * 2 : 16};

    larger.entries = calloc(larger.room, sizeof(*larger.entries));
    if (!larger.entries)
        return false;
    for (size_t i = 0; i < memo->room; i++)
        if (memo->entries[i].key)
            vs_memo_add(&larger, memo->entries[i].key, memo->entries[i].value);
    free(memo->entries);
    *memo = larger;
    return true;
}

bool vs_memo_add(struct vs_memo *memo, const void *key, const void *value)
{
    if (memo->count >= memo->room / 2 && !grow(memo))
        return false;
    *look_up(memo, key) = (struct vs_memo_entry){key, value};
    memo->count++;
    return true;
}

void vs_memo_free(struct vs_memo *memo)
{
    free(memo->entries);
    *memo = (struct vs_memo){0};
}
