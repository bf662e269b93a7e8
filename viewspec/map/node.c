/* SPDX-License-Identifier: MIT */
#include "node.h"

#include <string.h>

#include "viewspec/base/integer.h"

const struct vs_node *vs_node_run(struct vs_arena *arena, int64_t size)
{
    struct vs_node *node = vs_arena_alloc(arena, sizeof(*node));
    if (node == NULL)
        return NULL;
    node->kind = VS_RUN;
    node->depth = 1;
    node->monotonic = node->disjoint = true;
    node->size = node->hi = size;
    node->runs = 1;
    return node;
}

static struct vs_node *copy(struct vs_arena *arena, const struct vs_node *node)
{
    struct vs_node *twin = vs_arena_alloc(arena, sizeof(*twin));
    return twin ? memcpy(twin, node, sizeof(*twin)) : NULL;
}

const struct vs_node *vs_node_unit(struct vs_arena *arena, const struct vs_node *node)
{
    struct vs_node *unit = node ? copy(arena, node) : NULL;
    if (unit)
        unit->starts = (struct vs_starts){0};
    return unit;
}

static void shift_facts(struct vs_arena *arena, struct vs_node *node, int64_t distance)
{
    node->lo = vs_add(arena, node->lo, distance);
    node->hi = vs_add(arena, node->hi, distance);
    node->starts.first = vs_add(arena, node->starts.first, distance);
    node->starts.last = vs_add(arena, node->starts.last, distance);
}

const struct vs_node *vs_node_shift(struct vs_arena *arena, const struct vs_node *node,
                                    int64_t distance)
{
    struct vs_node *moved = node && distance ? copy(arena, node) : NULL;
    if (moved == NULL)
        return node;
    moved->base = vs_add(arena, node->base, distance);
    shift_facts(arena, moved, distance);
    return moved;
}

/* Sets the facts of node to those of `count` >= 2 instances of child, stride apart, the first one
   at the child's place. */
static void loop_facts(struct vs_arena *arena, struct vs_node *node, int64_t count, int64_t stride,
                       const struct vs_node *child)
{
    int64_t reach = vs_mul(arena, count - 1, stride);

    node->size = vs_mul(arena, count, child->size);
    node->lo = vs_add(arena, child->lo, vs_min(reach, 0));
    node->hi = vs_add(arena, child->hi, vs_max(reach, 0));
    node->starts.first = child->starts.first;
    node->starts.last = vs_add(arena, child->starts.last, reach);
    node->starts.grain = vs_gcd(child->starts.grain, stride);
    node->monotonic =
        child->monotonic && vs_add(arena, stride, child->starts.first) >= child->starts.last;
    node->disjoint =
        node->monotonic && child->disjoint && vs_add(arena, stride, child->lo) >= child->hi;
    node->runs = vs_mul_capped(count, child->runs);
}

/*
 * Merges the loop with its child if the result is a simpler node. Bytes that are adjacent and in
 * order become one run here, in list_blocks and in join_runs, regardless of the loops that compose
 * them. A walk then joins each run from a few leaves per level of the tree, however often a level
 * repeats its child.
 */
static void loop_shape(struct vs_node *node, int64_t count, int64_t stride,
                       const struct vs_node *child)
{
    node->kind = child->kind;
    node->base = child->base;
    if (child->kind == VS_RUN && stride == child->size) {
        node->runs = node->depth = 1;
        return;
    }
    if (child->kind == VS_LOOP && stride == vs_mul_capped(child->count, child->stride)) {
        node->count = vs_mul_capped(child->count, count);
        node->stride = child->stride;
        node->child = child->child;
        node->depth = child->depth;
        return;
    }
    node->kind = VS_LOOP;
    node->base = 0;
    node->count = count;
    node->stride = stride;
    node->child = child;
    node->depth = child->depth + 1;
}

const struct vs_node *vs_node_loop(struct vs_arena *arena, int64_t count, int64_t stride,
                                   const struct vs_node *child)
{
    struct vs_node *node;

    if (count < 1 || child == NULL)
        return NULL;
    if (count == 1)
        return child;
    node = vs_arena_alloc(arena, sizeof(*node));
    if (node == NULL)
        return NULL;
    loop_facts(arena, node, count, stride, child);
    loop_shape(node, count, stride, child);
    return node;
}

/* Adds the facts of `part`, which is next in typemap order, to node. */
static void append_facts(struct vs_arena *arena, struct vs_node *node, const struct vs_node *part)
{
    if (!node->size) {
        node->lo = part->lo;
        node->hi = part->hi;
        node->starts = part->starts;
        node->monotonic = part->monotonic;
        node->disjoint = part->disjoint;
    } else {
        bool behind = part->starts.first >= node->starts.last;
        int64_t distance;

        node->disjoint = node->disjoint && part->disjoint && behind && part->lo >= node->hi;
        node->monotonic = node->monotonic && part->monotonic && behind;
        distance = vs_sub(arena, part->starts.first, node->starts.first);
        node->starts.grain = vs_gcd(vs_gcd(node->starts.grain, part->starts.grain), distance);
        node->starts.last = part->starts.last;
        node->lo = vs_min(node->lo, part->lo);
        node->hi = vs_max(node->hi, part->hi);
    }
    node->size = vs_add(arena, node->size, part->size);
    node->runs = vs_add_capped(node->runs, part->runs);
}

/* The places of a list of blocks, with adjacent ones merged and empty ones left out. */
struct block_list {
    int64_t count;
    int64_t *displacements;
    int64_t *before;
    bool regular; /* equal lengths at equal distances */
};

static bool list_blocks(struct vs_arena *arena, struct block_list *list, int64_t count,
                        const int64_t *lengths, int64_t length, const int64_t *displacements,
                        int64_t unit, int64_t stride)
{
    int64_t n = 0, instances = 0, next = 0;

    list->displacements = vs_arena_array(arena, count, sizeof(int64_t));
    list->before = vs_arena_array(arena, vs_add(arena, count, 1), sizeof(int64_t));
    if (!list->displacements || !list->before)
        return false;
    for (int64_t b = 0; b < count; b++) {
        int64_t here = vs_mul(arena, displacements[b], unit);
        int64_t more = lengths ? lengths[b] : length;
        if (more < 1)
            continue;
        if (!n || here != next) {
            list->displacements[n] = here;
            list->before[n++] = instances;
        }
        instances = vs_add(arena, instances, more);
        next = vs_add(arena, here, vs_mul(arena, more, stride));
    }
    list->count = n;
    list->before[n] = instances;
    list->regular = true;
    for (int64_t b = 1; b < n && list->regular; b++)
        list->regular = list->before[b + 1] - list->before[b] == list->before[1] &&
                        vs_sub(arena, list->displacements[b], list->displacements[b - 1]) ==
                            vs_sub(arena, list->displacements[1], list->displacements[0]);
    return !arena->failure;
}

/* Adds the facts of block b of the list. */
static void append_block(struct vs_arena *arena, struct vs_node *node,
                         const struct block_list *list, int64_t b, int64_t stride,
                         const struct vs_node *child)
{
    int64_t n = list->before[b + 1] - list->before[b];
    struct vs_node block = *child;

    if (n > 1)
        loop_facts(arena, &block, n, stride, child);
    if (child->kind == VS_RUN && stride == child->size)
        block.runs = 1; /* dense */
    shift_facts(arena, &block, list->displacements[b]);
    append_facts(arena, node, &block);
}

static const int64_t *list_reach(struct vs_arena *arena, const struct block_list *list,
                                 int64_t stride, const struct vs_node *child)
{
    int64_t *reach = vs_arena_array(arena, list->count, sizeof(*reach));
    int64_t most = INT64_MIN;

    for (int64_t b = 0; reach && b < list->count; b++) {
        int64_t last = (list->before[b + 1] - list->before[b] - 1) * stride;
        reach[b] = most = vs_max(most, list->displacements[b] + vs_max(last, 0) + child->hi);
    }
    return reach;
}

const struct vs_node *vs_node_blocks(struct vs_arena *arena, int64_t count, const int64_t *lengths,
                                     int64_t length, const int64_t *displacements, int64_t unit,
                                     int64_t stride, const struct vs_node *child)
{
    struct block_list list;
    struct vs_node *node;

    if (count < 1 || child == NULL ||
        !list_blocks(arena, &list, count, lengths, length, displacements, unit, stride) ||
        !list.count)
        return NULL;
    if (list.regular) {
        const struct vs_node *block = vs_node_loop(arena, list.before[1], stride, child);
        if (list.count > 1)
            block =
                vs_node_loop(arena, list.count,
                             vs_sub(arena, list.displacements[1], list.displacements[0]), block);
        return vs_node_shift(arena, block, list.displacements[0]);
    }
    node = vs_arena_alloc(arena, sizeof(*node));
    if (node == NULL)
        return NULL;
    node->kind = VS_BLOCKS;
    node->depth = child->depth + 1;
    node->count = list.count;
    node->stride = stride;
    node->child = child;
    node->displacements = list.displacements;
    node->before = list.before;
    for (int64_t b = 0; b < list.count && !arena->failure; b++)
        append_block(arena, node, &list, b, stride, child);
    if (!node->monotonic)
        node->reach = list_reach(arena, &list, stride, child);
    return node;
}

/* Joins the runs a and b and keeps the starts of both; returns NULL if they are not adjacent. */
static const struct vs_node *join_runs(struct vs_arena *arena, const struct vs_node *a,
                                       const struct vs_node *b)
{
    struct vs_node *joined;

    if (a->kind != VS_RUN || b->kind != VS_RUN || a->hi != b->lo)
        return NULL;
    joined = copy(arena, a);
    if (joined == NULL)
        return NULL;
    append_facts(arena, joined, b);
    joined->runs = 1;
    return joined;
}

const struct vs_node *vs_node_seq(struct vs_arena *arena, int64_t count,
                                  const struct vs_node *const *children)
{
    const struct vs_node **list = vs_arena_array(arena, count, sizeof(*list));
    int64_t *before = vs_arena_array(arena, vs_add(arena, count, 1), sizeof(*before));
    int64_t n = 0;
    struct vs_node *node;

    if (list == NULL || before == NULL)
        return NULL;
    for (int64_t i = 0; i < count; i++) {
        const struct vs_node *joined =
            n && children[i] ? join_runs(arena, list[n - 1], children[i]) : NULL;
        if (joined)
            list[n - 1] = joined;
        else if (children[i])
            list[n++] = children[i];
    }
    if (n < 2)
        return n ? list[0] : NULL;
    node = vs_arena_alloc(arena, sizeof(*node));
    if (node == NULL)
        return NULL;
    node->kind = VS_SEQ;
    node->count = n;
    node->children = list;
    node->before = before;
    for (int64_t i = 0; i < n; i++) {
        append_facts(arena, node, list[i]);
        before[i + 1] = node->size;
        if (list[i]->depth >= node->depth)
            node->depth = list[i]->depth + 1;
    }
    return node;
}

int64_t vs_node_entry(const int64_t *before, int64_t count, int64_t value)
{
    return VS_FIRST(i, 1, count, before[i] > value) - 1;
}

int64_t vs_node_seek(const struct vs_node *node, int64_t position)
{
    int64_t displacement = 0;
    for (;;) {
        int64_t index, block;

        displacement += node->base;
        switch (node->kind) {
        case VS_RUN:
            return displacement + position;
        case VS_LOOP:
        case VS_BLOCKS:
            index = position / node->child->size;
            position -= index * node->child->size;
            if (node->kind == VS_BLOCKS) {
                block = vs_node_entry(node->before, node->count, index);
                displacement += node->displacements[block];
                index -= node->before[block];
            }
            displacement += index * node->stride;
            node = node->child;
            break;
        case VS_SEQ:
            index = vs_node_entry(node->before, node->count, position);
            position -= node->before[index];
            node = node->children[index];
            break;
        }
    }
}

/* Returns the first of count instances, stride apart, with a byte at or after target, or count. */
static int64_t first_instance(const struct vs_node *child, int64_t count, int64_t stride,
                              int64_t target)
{
    int64_t index;

    /* With a negative stride the first instance reaches farthest. */
    if (child->hi > target)
        return 0;
    if (stride <= 0)
        return count;
    index = (target - child->hi) / stride + 1;
    return vs_min(index, count);
}

static int64_t end_of_block(const struct vs_node *node, int64_t block)
{
    int64_t last = node->before[block + 1] - node->before[block] - 1;

    return node->reach ? node->reach[block]
                       : node->displacements[block] + last * node->stride + node->child->hi;
}

/* Returns the first block with a byte at or after target. */
static int64_t first_block(const struct vs_node *node, int64_t target)
{
    return VS_FIRST(i, 0, node->count, end_of_block(node, i) > target);
}

/* Returns the first such child of a sequence. Overlapping children need not end in order. */
static int64_t first_child(const struct vs_node *node, int64_t target)
{
    int64_t first = 0;

    if (node->disjoint)
        return VS_FIRST(i, 0, node->count, node->children[i]->hi > target);
    while (node->children[first]->hi <= target)
        first++;
    return first;
}

int64_t vs_node_lower_bound(const struct vs_node *node, int64_t displacement)
{
    int64_t position = 0, target = displacement, index, count;

    if (node->hi <= displacement)
        return node->size;
    for (;;) {
        if (target <= node->lo)
            return position;
        target -= node->base;
        switch (node->kind) {
        case VS_RUN:
            return position + vs_max(target, 0);
        case VS_LOOP:
        case VS_BLOCKS:
            count = node->count;
            if (node->kind == VS_BLOCKS) {
                index = first_block(node, target);
                target -= node->displacements[index];
                position += node->before[index] * node->child->size;
                count = node->before[index + 1] - node->before[index];
            }
            index = first_instance(node->child, count, node->stride, target);
            position += index * node->child->size;
            target -= index * node->stride;
            node = node->child;
            break;
        case VS_SEQ:
            index = first_child(node, target);
            position += node->before[index];
            node = node->children[index];
            break;
        }
    }
}
