/* SPDX-License-Identifier: MIT */
#ifndef FROM_GRID_H
#define FROM_GRID_H

#include "from.h"

/* How the ranks share an array: a distribution for each dimension, over a grid of ranks. */

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

/* What a rank has of one dimension, as numbers or as expressions of viewspec(5) in its rank. */

#define FROM_TERM 512

/* A number, or an expression in parentheses. */
struct from_term {
    char text[FROM_TERM];
    bool constant;
    int64_t value; /* of a constant */
};

/* A dimension of length indices, as one rank of a grid has it. */
struct from_axis {
    int64_t length;
    int64_t ranks;                       /* that share it; 1: who has it has all */
    enum from_distribution distribution; /* FROM_BLOCK or FROM_CYCLIC where ranks share it */
    int64_t block;                       /* the length of a block */
    struct from_term coordinate;         /* the rank's, along this dimension */
    struct from_term start, count;       /* of one block: its first index and its length; of a
                                            cyclic distribution count alone counts, all indices */
};

/* Dimension d of a variable, as the grid shares it. */
struct from_axis from_axis(const struct from_variable *variable, const struct from_grid *grid,
                           int d);

/* A term of that value. */
struct from_term from_constant(int64_t value);

/* An expression: what format makes of the texts of terms, in parentheses. */
struct from_term from_expression(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The term as JSON: a new reference, or NULL without memory. */
json_t *from_term_json(const struct from_term *term);

#endif
