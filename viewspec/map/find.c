/* SPDX-License-Identifier: MIT */
#include "viewspec/map.h"
#include "viewspec/base/integer.h"
#include "node.h"

/*
 * The search for a displacement. If no bytes overlap, each loop has one instance to examine. If
 * spans interleave, each instance that reaches the displacement is examined, or each run of one
 * instance if these are fewer: a division then finds the instance in which the run holds it.
 *
 * If spans interleave on many levels, all paths may have to be tried. No shortcut is known (it is
 * the problem of subset sums), so the number of steps is limited.
 */

/* The number of skipped children that count as one step. */
#define QUICK_STEPS 64

/* Takes a step; returns false if none is left. */
static bool may_go_on(int64_t *steps)
{
    return *steps > 0 && (*steps)-- > 0;
}

static int64_t find_in_node(int64_t *steps, const struct vs_node *node, int64_t displacement);

/* Returns the lower of two positions. -1 means none, and is the largest unsigned number. */
static int64_t lesser(int64_t a, int64_t b)
{
    return (uint64_t)a < (uint64_t)b ? a : b;
}

/* count instances, each of size bytes, stride > 0 apart. target is relative to the first. */
struct instances {
    int64_t count, stride, size, target;
};

/* Returns the lowest position at which an instance of the run at displacement holds the target. */
static int64_t find_run(const struct instances *whole, int64_t displacement, int64_t length,
                        int64_t position)
{
    int64_t distance = whole->target - displacement, index = 0;
    int64_t inside;

    if (distance < 0)
        return -1;
    if (distance >= length)
        index = (distance - length) / whole->stride + 1;
    inside = distance - index * whole->stride;
    if (index >= whole->count || inside < 0)
        return -1;
    return index * whole->size + position + inside;
}

static int64_t find_by_runs(int64_t *steps, const struct instances *whole,
                            const struct vs_node *node, int64_t displacement, int64_t position);

static int64_t find_by_block(int64_t *steps, const struct instances *whole,
                             const struct vs_node *node, int64_t b, int64_t displacement,
                             int64_t position)
{
    int64_t best = -1, count = node->before[b + 1] - node->before[b];

    displacement += node->displacements[b];
    position += node->before[b] * node->child->size;
    for (int64_t i = 0; i<count && * steps> 0; i++)
        best = lesser(best, find_by_runs(steps, whole, node->child, displacement + i * node->stride,
                                         position + i * node->child->size));
    return best;
}

/* Tries every run of node, which is at displacement and position inside an instance. */
static int64_t find_by_runs(int64_t *steps, const struct instances *whole,
                            const struct vs_node *node, int64_t displacement, int64_t position)
{
    int64_t best = -1;

    displacement += node->base;
    if (!may_go_on(steps))
        return best;
    if (node->kind == VS_RUN)
        return find_run(whole, displacement, node->size, position);
    for (int64_t i = 0; i<node->count && * steps> 0; i++) {
        int64_t found;
        if (node->kind == VS_LOOP)
            found = find_by_runs(steps, whole, node->child, displacement + i * node->stride,
                                 position + i * node->child->size);
        else if (node->kind == VS_BLOCKS)
            found = find_by_block(steps, whole, node, i, displacement, position);
        else
            found = find_by_runs(steps, whole, node->children[i], displacement,
                                 position + node->before[i]);
        best = lesser(best, found);
    }
    return best;
}

/* Searches count instances of child, stride apart. */
static int64_t find_in_instances(int64_t *steps, const struct vs_node *child, int64_t count,
                                 int64_t stride, int64_t target)
{
    int64_t first = 0, last = 0; /* without a stride, the others hold the same bytes */

    if (stride > 0) {
        first = target < child->hi ? 0 : (target - child->hi) / stride + 1;
        last = vs_min((target - child->lo) / stride, count - 1);
    }
    if (last - first >= child->runs) {
        struct instances whole = {count, stride, child->size, target};
        return find_by_runs(steps, &whole, child, 0, 0);
    }
    for (int64_t i = first; i <= last && *steps > 0; i++) {
        int64_t position = find_in_node(steps, child, target - i * stride);
        if (position >= 0)
            return i * child->size + position;
    }
    return -1;
}

static int64_t find_in_blocks(int64_t *steps, const struct vs_node *node, int64_t target)
{
    int64_t skipped = vs_node_lower_bound(node, target + node->base) / node->child->size;

    for (int64_t b = vs_node_entry(node->before, node->count, skipped);
         b < node->count && may_go_on(steps); b++) {
        int64_t here = target - node->displacements[b], position;

        if (here < node->child->lo)
            return -1;
        position = find_in_instances(steps, node->child, node->before[b + 1] - node->before[b],
                                     node->stride, here);
        if (position >= 0)
            return node->before[b] * node->child->size + position;
    }
    return -1;
}

static int64_t find_in_sequence(int64_t *steps, const struct vs_node *node, int64_t target)
{
    int64_t position = vs_node_lower_bound(node, target + node->base);
    int64_t first = vs_node_entry(node->before, node->count, position);

    if (!node->disjoint)
        *steps -= vs_min(*steps, first / QUICK_STEPS);
    for (int64_t b = first; b < node->count && may_go_on(steps); b++) {
        int64_t found = find_in_node(steps, node->children[b], target);
        if (found >= 0)
            return node->before[b] + found;
        if (node->disjoint && node->children[b]->lo > target)
            return -1;
    }
    return -1;
}

static int64_t find_in_node(int64_t *steps, const struct vs_node *node, int64_t displacement)
{
    int64_t target;

    if (displacement < node->lo || displacement >= node->hi || !may_go_on(steps))
        return -1;
    target = displacement - node->base;
    switch (node->kind) {
    case VS_RUN:
        return target;
    case VS_LOOP:
        return find_in_instances(steps, node->child, node->count, node->stride, target);
    case VS_BLOCKS:
        return find_in_blocks(steps, node, target);
    case VS_SEQ:
        return find_in_sequence(steps, node, target);
    }
    return -1;
}

int64_t vs_node_find(const struct vs_node *node, int64_t displacement, int64_t *steps)
{
    int64_t position = find_in_node(steps, node, displacement);

    return *steps > 0 ? position : VS_FIND_GAVE_UP;
}
