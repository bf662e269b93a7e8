/* SPDX-License-Identifier: MIT */
#ifndef VS_ITEM_H
#define VS_ITEM_H

/* Private to viewspec/: shapes at places in a window, which coverage is counted from. */

#include "viewspec/base/integer.h"
#include "shape.h"

/* A shape at origin; only its bytes in [lo, hi) count. */
struct vs_item {
    const struct vs_shape *shape;
    int64_t origin;
    int64_t count; /* of a loop: its iterations from origin on, whatever the shape says */
    int64_t lo, hi;
    bool twice; /* stands for several equal items */
};

/* Bytes, counted over a window. */
struct vs_tally {
    int64_t covered; /* held at all */
    int64_t many;
};

static inline bool vs_item_is_loop(const struct vs_item *item)
{
    return item->shape->kind == VS_SHAPE_LOOP;
}

/* shape at origin, cut and counted like within. */
struct vs_item vs_item_of(const struct vs_shape *shape, int64_t origin,
                          const struct vs_item *within);

/* One more than the distance from the origin to the last byte, cut or not. */
int64_t vs_item_span(const struct vs_item *item);

/* How many bytes of a disjoint item lie below place, cut or not. */
int64_t vs_item_below(const struct vs_item *item, int64_t place);

/*
 * Cuts an item down to what it shows, so that [lo, hi) is no wider than it must be and a loop has
 * two iterations or more, a stride above 0. Returns false where the item shows nothing.
 */
bool vs_item_trim(struct vs_item *item);

/* Trims items, sorts them by lo and unites equal ones; returns how many are left. */
int64_t vs_items_tidy(struct vs_item *items, int64_t count);

/* Adds what count >= 1 runs, in the order of lo, hold to tally. */
void vs_items_sweep(const struct vs_item *items, int64_t count, struct vs_tally *tally);

/* The parts of a list that an item can show: [first, behind), of a disjoint list no others. */
void vs_item_parts(const struct vs_item *item, int64_t *first, int64_t *behind);

#endif
