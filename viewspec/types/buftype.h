/* SPDX-License-Identifier: MIT */
#ifndef VS_BUFTYPE_H
#define VS_BUFTYPE_H

/* Private to viewspec/: how a view's slice has its etypes in memory: "buftype" and "memory". */

#include <jansson.h>

#include "build.h"
#include "viewspec/map/order.h"
#include "viewspec/base/place.h"
#include "type.h"
#include "view.h"

/* A value of the view and its place; the place is the view's where there is none. */
struct vs_member {
    json_t *value; /* NULL: there is none */
    const struct vs_place *place;
};

/* What a buftype is laid beside; all borrowed. */
struct vs_buftype_source {
    const struct vs_source *source;
    struct vs_arena *arena; /* of what is made */
    const struct vs_representation *representation;
    struct vs_member etype, filetype, buftype, memory;
    const struct vs_type *file_etype, *file_type;
};

/* What a view repeats. */
struct vs_tile {
    const struct vs_node *node; /* in the file's order */
    int64_t extent, tiles;      /* INT64_MAX tiles: without end */
    bool ordered;               /* it has an order of its own: order */
    struct vs_order order;
    const struct vs_array *memory; /* the array that it is in the slice, or NULL: it is none */
};

/*
 * Finds the order of a tile, which is the filetype's and repeats so often, and fills the rest.
 * Where tiles interleave in memory all are made one. Nothing changes where there is neither key.
 * Errors are noted in the scope's error. 0 or its code.
 */
int vs_buftype_find(const struct vs_buftype_source *from, struct vs_tile *tile);

#endif
