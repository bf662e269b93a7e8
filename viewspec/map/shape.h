/* SPDX-License-Identifier: MIT */
#ifndef VS_SHAPE_H
#define VS_SHAPE_H

/*
 * Private to viewspec/: the set of bytes of a typemap, without their order and place.
 *
 * A shape begins at byte 0. Shapes are interned: equal shapes of one table are one object. A
 * million ranks that own equal blocks at different places thus cost one shape. Sets have fewer
 * kinds than typemaps, because they have no order: loops ascend, and lists need no common child.
 */

#include <stdbool.h>
#include <stdint.h>

#include "viewspec/base/arena.h"
#include "viewspec/base/memo.h"
#include "node.h"

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
    uint64_t hash;
    struct vs_shape *next; /* in the same bucket */
};

/* Starts zeroed. Not thread-safe. */
struct vs_shapes {
    struct vs_arena arena;
    struct vs_shape **buckets;
    uint64_t bucket_count; /* a power of two, or 0 */
    uint64_t shape_count;
    struct vs_memo lists; /* for the current node: shapes of the lists below it */
};

/*
 * Returns the shape of node; its byte 0 is the node's byte at node->lo. It is valid until the table
 * is freed and borrows nothing from the node. NULL: out of memory. Takes as many steps as node has
 * different parts.
 */
const struct vs_shape *vs_shape_of_node(struct vs_shapes *shapes, const struct vs_node *node);

/* Returns a loop of child, count >= 1 times, stride >= 0 apart. NULL: out of memory. */
const struct vs_shape *vs_shape_loop(struct vs_shapes *shapes, int64_t count, int64_t stride,
                                     const struct vs_shape *child);

/* Returns how many bytes of a disjoint shape lie below offset. O(depth * log(parts)). */
int64_t vs_shape_below(const struct vs_shape *shape, int64_t offset);

/* Returns the offset of byte number 0 <= number < size of a disjoint shape. O(depth * log(parts)).
 */
int64_t vs_shape_place(const struct vs_shape *shape, int64_t number);

void vs_shapes_free(struct vs_shapes *shapes);

#endif
