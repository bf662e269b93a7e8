/* SPDX-License-Identifier: MIT */
#ifndef VS_SHAPE_H
#define VS_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "viewspec/base/hash.h"
#include "node.h"

/*
 * Private to viewspec/: the set of bytes of a typemap, without their order and place.
 *
 * A shape begins at byte 0. Shapes are interned: equal shapes of one table are one object. A
 * million ranks that own equal blocks at different places thus cost one shape. Sets have fewer
 * kinds than typemaps, because they have no order: loops ascend, and lists need no common child.
 */

enum vs_shape_kind {
    VS_SHAPE_RUN,  /* size adjacent bytes */
    VS_SHAPE_LOOP, /* child at i * stride, 0 <= i < count; stride >= 0 */
    VS_SHAPE_LIST, /* count >= 2 parts */
};

struct vs_shape_part {
    int64_t offset;
    int64_t before; /* data bytes of the parts before this one */
    const struct vs_shape *shape;
};

struct vs_shape {
    enum vs_shape_kind kind;
    bool disjoint; /* no byte occurs twice, and the parts of a list ascend by their offsets */
    int64_t size;  /* data bytes */
    int64_t span;  /* one more than the offset of the last byte */
    int64_t count, stride;
    const struct vs_shape *child;
    const struct vs_shape_part *parts;
};

/* Starts zeroed. Not thread-safe. */
struct vs_shapes {
    void *tree;           /* a tsearch(3) tree of the shapes; owned */
    struct vs_memo lists; /* for the current node: shapes of the lists below it */
};

/*
 * Returns the shape of node; its byte 0 is the node's byte at node->lo. It is valid until the table
 * is freed and borrows nothing from the node. NULL: out of memory. Takes as many steps as node has
 * different parts.
 */
const struct vs_shape *vs_shape_of_node(struct vs_shapes *shapes, const struct vs_node *node);

/* Returns a loop of child, count >= 1 times, stride apart; its sign does not matter, because a set
   has no order. NULL: out of memory. */
const struct vs_shape *vs_shape_loop(struct vs_shapes *shapes, int64_t count, int64_t stride,
                                     const struct vs_shape *child);

/* Returns how many bytes of a disjoint shape lie below offset. O(depth * log(parts)). */
int64_t vs_shape_below(const struct vs_shape *shape, int64_t offset);

/* Returns the offset of byte number 0 <= number < size of a disjoint shape. O(depth * log(parts)).
 */
int64_t vs_shape_place(const struct vs_shape *shape, int64_t number);

/* Frees the table, which must not be used afterwards. */
void vs_shapes_free(struct vs_shapes *shapes);

/* Items: shapes at places in a window, for computing coverage. */

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
