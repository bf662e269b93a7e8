/* SPDX-License-Identifier: MIT */
#ifndef VS_LOCAL_ARRAY_H
#define VS_LOCAL_ARRAY_H

/* Private to viewspec/: the array that "shape" makes of a view's slice. */

#include "viewspec/map/order.h"
#include "view.h"

/* A tile of a slice. All pointers are borrowed. */
struct vs_slice_tile {
    int64_t etypes; /* of data */
    const struct vs_view_facts *facts;
    const struct vs_order *order; /* NULL: the slice has no gaps */
};

/*
 * Reads value, a list of sizes at place, as an array in C order, and allocates it in the arena. The
 * array must have as many elements as the tile has etypes, including gaps. Returns 0, or a negative
 * errno with the scope's error filled.
 */
int vs_local_array(const struct vs_source *source, json_t *value, const struct vs_place *place,
                   struct vs_arena *arena, const struct vs_slice_tile *tile,
                   const struct vs_array **result);

#endif
