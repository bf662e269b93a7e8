/* SPDX-License-Identifier: MIT */
#ifndef FROM_SPEC_H
#define FROM_SPEC_H

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
    /* The first index and the number of indices of a block. With a cyclic distribution, start is
       not used, and count is the number of all indices. */
    struct from_term start, count;
    struct from_term blocks, rest; /* cyclic: the whole blocks, and the indices in the last one */
};

/* Returns dimension d of a variable, divided by the grid. */
struct from_axis from_axis(const struct from_variable *variable, const struct from_grid *grid,
                           int d);

/* Returns a term of that value. */
struct from_term from_constant(int64_t value);

/* Returns an expression: the formatted text of terms, in parentheses. */
struct from_term from_expression(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns the term as JSON: a new reference, or NULL if memory is exhausted. */
json_t *from_term_json(struct from_term term);

/* Specs (viewspec(5)) of the variables of a file. */

/*
 * Returns the text of a spec with a view of each chosen variable. A single one is "view"; several
 * (or one if named is true) are "views", named after the variables. None of the chosen variables
 * may have a reason. The spec names the file, the decomposition, and the checksums of the parts
 * that describe the positions. The caller frees the new string with free(). Returns NULL with error
 * filled on failure.
 */
char *from_spec(const struct from_file *file, const size_t *chosen, size_t count, bool named,
                const struct from_grid *grid, struct vs_error *error);

/* Converting a variable to a view of viewspec(5). */

/*
 * Returns the view of a variable without a reason. Each rank of the grid has its part of the
 * variable if both have the same number of dimensions; otherwise each rank has the whole variable.
 * Returns a new reference, or NULL with error filled if memory is exhausted, or the grid does not
 * support such a variable.
 */
json_t *from_view(const struct from_variable *variable, const struct from_grid *grid,
                  struct vs_error *error);

/* Returns a list of the numbers. Those below `least` are replaced by it. */
json_t *from_sizes(const int64_t *values, int count, int64_t least);

/*
 * Returns true if each rank's elements have the same order in the array and in the file: chunks are
 * whole lines, planes, ... of the array, in its order. Otherwise a view needs a buftype.
 */
bool from_chunks_in_order(const struct from_variable *variable);

/*
 * Gives a variable of bytes the type in text, "TYPE [SHAPE]": a basic type and the sizes of an
 * array. One size may be *, which is replaced by the size that fits. Without a shape, the bytes of
 * the last dimension become values. Returns 0, or -EINVAL with error filled.
 */
int from_retype(const struct from_file *file, struct from_variable *variable, const char *text,
                struct vs_error *error);

#endif
