/* SPDX-License-Identifier: MIT */
#ifndef VS_ITEM_H
#define VS_ITEM_H

/* Private to viewspec/: shapes at places in a window, for computing coverage. */

#include "viewspec/base/integer.h"
#include "shape.h"

/* A shape at origin; only its bytes in [lo, hi) count. */
struct vs_item {
    const struct vs_shape *shape;
    int64_t origin;
    int64_t count; /* iterations of a loop from origin on; overrides the count of the shape */
    int64_t lo, hi;
    bool twice; /* represents several equal items */
};

/* Numbers of bytes in a window. */
struct vs_tally {
    int64_t covered; /* held once or more */
    int64_t many;
};

static inline bool vs_item_is_loop(const struct vs_item *item)
{
    return item->shape->kind == VS_SHAPE_LOOP;
}

/* Returns an item for shape at origin, clipped and counted like `within`. */
struct vs_item vs_item_of(const struct vs_shape *shape, int64_t origin,
                          const struct vs_item *within);

/* Returns the distance from the origin to the last byte plus one, clipped or not. */
int64_t vs_item_span(const struct vs_item *item);

/* Returns how many bytes of a disjoint item lie below place, clipped or not. */
int64_t vs_item_below(const struct vs_item *item, int64_t place);

/*
 * Clips an item so that [lo, hi) is no wider than its bytes, and a loop has at least two iterations
 * and a stride above 0. Returns false if the item has no bytes.
 */
bool vs_item_trim(struct vs_item *item);

/* Trims items, sorts them by lo and unites equal ones. Returns how many are left. */
int64_t vs_items_tidy(struct vs_item *items, int64_t count);

/* Adds the bytes of count >= 1 runs, in the order of lo, to tally. */
void vs_items_sweep(const struct vs_item *items, int64_t count, struct vs_tally *tally);

/* Finds the parts of a list that an item can show: [first, behind). Exact for a disjoint list. */
void vs_item_parts(const struct vs_item *item, int64_t *first, int64_t *behind);

#endif
