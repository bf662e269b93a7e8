/* SPDX-License-Identifier: MIT */
#ifndef VS_SHAPE_H
#define VS_SHAPE_H

/*
 * Private to viewspec/: which bytes a typemap holds, without their order and their place.
 *
 * A shape begins at byte 0. Shapes are interned: equal shapes of one table are one object, so a
 * million ranks that own equal blocks at different places cost one shape. Sets of bytes have fewer
 * kinds than typemaps, because order is gone: loops run upwards, lists need no common child.
 */

#include <stdbool.h>
#include <stdint.h>

#include "viewspec/base/arena.h"
#include "viewspec/base/memo.h"
#include "node.h"

enum vs_shape_kind {
    VS_SHAPE_RUN,  /* size bytes side by side */
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
    bool disjoint; /* no byte twice, and the parts of a list stand in the order of their offsets */
    int64_t size;  /* data bytes */
    int64_t span;  /* one more than the offset of the last byte */
    int64_t count, stride;
    const struct vs_shape *child;
    const struct vs_shape_part *parts;
    uint64_t hash;
    struct vs_shape *next; /* in the same bucket */
};

/* Starts zeroed. Not thread-safe. */
struct vs_shapes {
    struct vs_arena arena;
    struct vs_shape **buckets;
    uint64_t bucket_count; /* a power of two, or 0 */
    uint64_t shape_count;
    struct vs_memo lists; /* of the node under way: shapes of the lists below it */
};

/*
 * The shape of node; its byte 0 is the node's byte at node->lo. Valid until the table is freed;
 * nothing of the node is kept. NULL without memory. Takes as many steps as node has parts, each
 * counted once, however often it stands there.
 */
const struct vs_shape *vs_shape_of_node(struct vs_shapes *shapes, const struct vs_node *node);

/* child, again and again, stride >= 0 apart; count is 1 or more. NULL without memory. */
const struct vs_shape *vs_shape_loop(struct vs_shapes *shapes, int64_t count, int64_t stride,
                                     const struct vs_shape *child);

/* How many of a disjoint shape's bytes lie below offset. O(depth * log(parts)). */
int64_t vs_shape_below(const struct vs_shape *shape, int64_t offset);

/* The offset of byte number 0 <= number < size of a disjoint shape. The same steps. */
int64_t vs_shape_place(const struct vs_shape *shape, int64_t number);

void vs_shapes_free(struct vs_shapes *shapes);

#endif
