/* SPDX-License-Identifier: MIT */
#include "dealing.h"

struct vs_dealing *vs_dealing_new(struct vs_arena *arena, int64_t dimensions, int64_t extent)
{
    struct vs_dealing *dealing = vs_arena_alloc(arena, sizeof(*dealing));
    if (dealing == NULL)
        return NULL;
    *dealing = (struct vs_dealing){.dimensions = dimensions, .extent = extent};
    dealing->deals = vs_arena_array(arena, dimensions, sizeof(*dealing->deals));
    return dealing->deals != NULL ? dealing : NULL;
}

int64_t vs_dealing_rank(const struct vs_dealing *dealing, int64_t offset)
{
    int64_t rank = 0, index = offset / dealing->extent;
    for (int64_t d = 0; d < dealing->dimensions; d++) {
        const struct vs_deal *deal = &dealing->deals[d];
        rank += index % deal->size / deal->length % deal->places * deal->weight;
        index /= deal->size;
    }
    return rank;
}
