/* SPDX-License-Identifier: MIT */
#ifndef FROM_GRID_H
#define FROM_GRID_H

#include "from.h"

/* The decomposition of an array: a distribution for each dimension, over a grid of ranks. */

enum from_distribution { FROM_NONE, FROM_BLOCK, FROM_CYCLIC };

struct from_grid {
    int dimensions; /* 0: every rank has the whole array */
    int64_t ranks;  /* the product of psizes; 1 or more */
    int64_t psizes[FROM_DIMENSIONS_MAX];
    enum from_distribution distributions[FROM_DIMENSIONS_MAX];
    int64_t blocks[FROM_DIMENSIONS_MAX]; /* the length of a block; 0: the default */
};

/*
 * Parses a decomposition, in the syntax that follows the sizes of a darray in shorthand
 * (viewspec(5)): "block,cyclic(8) on 2x2". If text is NULL, the grid has one rank, or ranks if that
 * is not 0, each with the whole array. ranks is also the default without "on". Returns 0, or a
 * negative errno with error filled.
 */
int from_grid(const char *text, int64_t ranks, struct from_grid *grid, struct vs_error *error);

/* A rank's part of one dimension, as numbers or as expressions of viewspec(5) in its rank. */

#define FROM_TERM 512

/* A number, or an expression in parentheses. */
struct from_term {
    char text[FROM_TERM];
    bool constant;
    int64_t value; /* if it is a constant */
};

/* A dimension of length indices and a rank's part of it. */
struct from_axis {
    int64_t length;
    int64_t ranks;                       /* number of ranks that divide it; 1: it is not divided */
    enum from_distribution distribution; /* FROM_BLOCK or FROM_CYCLIC if it is divided */
    int64_t block;                       /* the length of a block */
    struct from_term coordinate;         /* of the rank along this dimension */
    /* The first index and the number of indices of a block. With a cyclic distribution only
       count is used, for all indices. */
    struct from_term start, count;
};

/* Returns dimension d of a variable, divided by the grid. */
struct from_axis from_axis(const struct from_variable *variable, const struct from_grid *grid,
                           int d);

/* Returns a term of that value. */
struct from_term from_constant(int64_t value);

/* Returns an expression: the formatted text of terms, in parentheses. */
struct from_term from_expression(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns the term as JSON: a new reference, or NULL if memory is exhausted. */
json_t *from_term_json(const struct from_term *term);

#endif
