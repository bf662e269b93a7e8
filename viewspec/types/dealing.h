/* SPDX-License-Identifier: MIT */
#ifndef VS_DEALING_H
#define VS_DEALING_H

/*
 * Private to viewspec/: how a darray, scatter, hpf_block or hpf_cyclic deals the elements of an
 * array to the ranks. If nothing else in a view depends on the rank, the owner of a byte can be
 * computed without searching the ranks.
 */

#include <stdint.h>

#include "viewspec/base/arena.h"

/* One dimension: blocks of length elements are dealt to the places in turn. */
struct vs_deal {
    int64_t size, length, places; /* each 1 or more */
    int64_t weight;               /* ranks from one place to the next */
};

struct vs_dealing {
    int64_t dimensions;
    struct vs_deal *deals; /* the fastest dimension first */
    int64_t extent;        /* bytes of an element, which has all its data inside */
};

/* Makes a dealing in arena with zeroed deals; NULL: out of memory. */
struct vs_dealing *vs_dealing_new(struct vs_arena *arena, int64_t dimensions, int64_t extent);

/* Returns the only rank that may own the byte at offset >= 0 from the displacement. O(dimensions).
 */
int64_t vs_dealing_rank(const struct vs_dealing *dealing, int64_t offset);

#endif
