/* SPDX-License-Identifier: MIT */
#include "node.h"

/*
 * Looks a displacement up. Where no bytes overlap there is one instance to look into at each loop;
 * where spans interleave, each that reaches so far, or, if these are more than the runs of one
 * instance, each run: which instance puts it there is then a division.
 */

static int64_t lesser(int64_t a, int64_t b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

/* count instances of a whole, each size bytes of data, stride apart; target counts from the first.
 */
struct instances {
    int64_t count, stride, size, target;
};

/* The lowest position at which an instance of the run at displacement has the target. */
static int64_t find_run(const struct instances *whole, int64_t displacement, int64_t length,
                        int64_t position)
{
    int64_t distance = whole->target - displacement, index = 0;
    if (distance < 0)
        return -1;
    if (distance >= length)
        index = whole->stride > 0 ? (distance - length) / whole->stride + 1 : whole->count;
    int64_t inside = distance - index * whole->stride;
    if (index >= whole->count || inside < 0)
        return -1;
    return index * whole->size + position + inside;
}

/* Tries every run of node, which stands at displacement and position inside the whole. */
static int64_t find_by_runs(const struct instances *whole, const struct vs_node *node,
                            int64_t displacement, int64_t position)
{
    int64_t best = -1;
    displacement += node->base;
    switch (node->kind) {
    case VS_RUN:
        return find_run(whole, displacement, node->size, position);
    case VS_LOOP:
        for (int64_t i = 0; i < node->count; i++)
            best = lesser(best, find_by_runs(whole, node->child, displacement + i * node->stride,
                                             position + i * node->child->size));
        return best;
    case VS_BLOCKS:
        for (int64_t b = 0; b < node->count; b++)
            for (int64_t i = node->before[b]; i < node->before[b + 1]; i++)
                best = lesser(best, find_by_runs(whole, node->child,
                                                 displacement + node->displacements[b] +
                                                     (i - node->before[b]) * node->stride,
                                                 position + i * node->child->size));
        return best;
    case VS_SEQ:
        for (int64_t b = 0; b < node->count; b++)
            best = lesser(best, find_by_runs(whole, node->children[b], displacement,
                                             position + node->before[b]));
        return best;
    }
    return best;
}

/* Looks into count instances of child, stride apart. */
static int64_t find_in_instances(const struct vs_node *child, int64_t count, int64_t stride,
                                 int64_t target)
{
    if (target < child->lo)
        return -1;
    int64_t first = 0, last = count - 1;
    if (stride > 0) {
        first = target < child->hi ? 0 : (target - child->hi) / stride + 1;
        last = (target - child->lo) / stride;
    } else {
        last = 0; /* the others hold the same bytes */
    }
    last = last < count ? last : count - 1;
    if (last - first >= child->runs) {
        struct instances whole = {count, stride, child->size, target};
        return find_by_runs(&whole, child, 0, 0);
    }
    for (int64_t i = first; i <= last; i++) {
        int64_t position = vs_node_find(child, target - i * stride);
        if (position >= 0)
            return i * child->size + position;
    }
    return -1;
}

static int64_t find_in_blocks(const struct vs_node *node, int64_t target)
{
    int64_t skipped = vs_node_lower_bound(node, target + node->base) / node->child->size;
    if (skipped == node->before[node->count])
        return -1;
    for (int64_t b = vs_node_entry(node->before, node->count, skipped); b < node->count; b++) {
        int64_t here = target - node->displacements[b];
        if (here < node->child->lo)
            return -1;
        int64_t position = find_in_instances(node->child, node->before[b + 1] - node->before[b],
                                             node->stride, here);
        if (position >= 0)
            return node->before[b] * node->child->size + position;
    }
    return -1;
}

int64_t vs_node_find(const struct vs_node *node, int64_t displacement)
{
    if (displacement < node->lo || displacement >= node->hi)
        return -1;
    int64_t target = displacement - node->base;
    switch (node->kind) {
    case VS_RUN:
        return target;
    case VS_LOOP:
        return find_in_instances(node->child, node->count, node->stride, target);
    case VS_BLOCKS:
        return find_in_blocks(node, target);
    case VS_SEQ: {
        int64_t position = vs_node_lower_bound(node, displacement);
        for (int64_t b = vs_node_entry(node->before, node->count, position); b < node->count; b++) {
            int64_t found = vs_node_find(node->children[b], target);
            if (found >= 0)
                return node->before[b] + found;
            if (node->disjoint && node->children[b]->lo > target)
                return -1;
        }
        return -1;
    }
    }
    return -1;
}
