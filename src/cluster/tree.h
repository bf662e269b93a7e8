/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_TREE_H
#define MPIIO_TREE_H

#include <stdint.h>

/*
 * The connections of a mount's nodes: a tree with node 0 at its root, in which each node has up to
 * fanout nodes below it, numbered level by level. All functions are local and thread-safe; node <
 * nodes.
 */
#define MPIIO_TREE_FANOUT 16 /* the default */

/* Returns the node above a node that is not 0. */
static inline int mpiio_tree_above(int node, int fanout)
{
    return (node - 1) / fanout;
}

/* Returns the number of nodes directly below a node: fanout * node + 1 and those that follow. */
static inline int mpiio_tree_below(int node, int nodes, int fanout)
{
    int64_t left = nodes - 1 - (int64_t)fanout * node;

    if (left <= 0)
        return 0;
    return left < fanout ? (int)left : fanout;
}

#endif
