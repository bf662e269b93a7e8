/* SPDX-License-Identifier: MIT */
#ifndef FROM_GRID_H
#define FROM_GRID_H

/* How the ranks share an array: a distribution for each dimension, over a grid of ranks. */

#include "from.h"

enum from_distribution { FROM_NONE, FROM_BLOCK, FROM_CYCLIC };

struct from_grid {
    int dimensions; /* 0: every rank has all */
    int64_t ranks;  /* the product of psizes; 1 or more */
    int64_t psizes[FROM_DIMENSIONS_MAX];
    enum from_distribution distributions[FROM_DIMENSIONS_MAX];
    int64_t blocks[FROM_DIMENSIONS_MAX]; /* the length of a block; 0: the default */
};

/*
 * Reads a decomposition, in the words that follow a darray's sizes in shorthand (viewspec(5)):
 * "block,cyclic(8) on 2x2". NULL is one rank, or ranks where that is not 0, each with all. ranks
 * is also what a grid without "on" has. 0, or a negative errno with error filled.
 */
int from_grid(const char *text, int64_t ranks, struct from_grid *grid, struct vs_error *error);

#endif
