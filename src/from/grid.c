/* SPDX-License-Identifier: MIT */
#include "spec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewspec/shorthand.h"

/* Decompositions of arrays over grids of ranks, and the ranks' parts. */

static const char grid_source[] = "DECOMPOSITION";

static int fail_grid(struct vs_error *error, const char *what)
{
    return from_fail(error, -EINVAL, grid_source, "%s", what);
}

/* Returns the JSON of a darray with that decomposition and number of dimensions, or NULL. */
static json_t *translate_grid(const char *text, int dimensions, struct vs_error *error)
{
    char sizes[2 * FROM_DIMENSIONS_MAX + 1] = "1", *shorthand, *json = NULL;
    json_t *root = NULL;

    for (int d = 1; d < dimensions; d++)
        strcat(sizes, "x1");
    if (asprintf(&shorthand, "darray %s %s", sizes, text) < 0) {
        from_fail_code(error, -ENOMEM, grid_source);
        return NULL;
    }
    json = vs_shorthand_json(shorthand, grid_source, NULL, 0, error);
    /* Report columns of the user's text alone. */
    error->column -= (int)strlen("darray ") + (int)strlen(sizes) + 1;
    if (error->code && error->column < 1)
        error->column = 1;
    free(shorthand);
    if (json && !(root = json_loads(json, 0, NULL)))
        from_fail_code(error, -ENOMEM, grid_source);
    free(json);
    return root;
}

/* Reads a number of the grid; "ranks" is the number of ranks. Returns false unless it is from 1
   to 2^31-1. */
static bool read_number(const json_t *value, int64_t ranks, int64_t *number)
{
    const char *text = json_string_value(value);

    *number = text && !strcmp(text, "ranks") ? ranks : json_integer_value(value);
    return *number >= 1 && *number <= INT32_MAX;
}

/* Reads the distribution of dimension d, which is divided among size ranks. */
static int read_dimension(const json_t *form, size_t d, const json_t *size, int64_t ranks,
                          struct from_grid *grid, struct vs_error *error)
{
    const char *name = json_string_value(json_array_get(json_object_get(form, "distribs"), d));
    const json_t *block = json_array_get(json_object_get(form, "dargs"), d);

    if (!read_number(size, ranks, &grid->psizes[d]))
        return fail_grid(error, "expected numbers of ranks, 1 .. 2147483647, behind \"on\"");
    if (!json_is_null(block) && !read_number(block, 0, &grid->blocks[d]))
        return fail_grid(error, "expected the length of a block, 1 .. 2147483647");
    grid->distributions[d] = !strcmp(name, "none")    ? FROM_NONE
                             : !strcmp(name, "block") ? FROM_BLOCK
                                                      : FROM_CYCLIC;
    if (grid->distributions[d] == FROM_NONE && grid->psizes[d] != 1)
        return fail_grid(error, "a dimension that is not distributed is split");
    grid->ranks *= grid->psizes[d];
    return grid->ranks <= INT32_MAX ? 0 : fail_grid(error, "more than 2147483647 ranks");
}

static int read_dimensions(const json_t *form, int64_t ranks, struct from_grid *grid,
                           struct vs_error *error)
{
    const json_t *sizes = json_object_get(form, "psizes");

    if (json_array_size(sizes) != (size_t)grid->dimensions)
        return fail_grid(error, "the grid of ranks has other dimensions");
    for (size_t d = 0; d < (size_t)grid->dimensions; d++)
        if (read_dimension(form, d, json_array_get(sizes, d), ranks, grid, error))
            return error->code;
    return 0;
}

static int read_form(const json_t *root, int64_t ranks, struct from_grid *grid,
                     struct vs_error *error)
{
    const json_t *view = json_object_get(root, "view"), *form = json_object_get(view, "filetype");
    size_t dimensions = json_array_size(json_object_get(form, "distribs"));
    const char *order = json_string_value(json_object_get(form, "order"));
    json_t *all = json_object_get(root, "ranks");

    if (json_object_size(view) != 1 || order == NULL || strcmp(order, "C") != 0 ||
        !json_object_get(form, "psizes"))
        return fail_grid(error, "only the distribution and the ranks can be said (... on ...)");
    ranks = ranks ? ranks : json_is_integer(all) ? json_integer_value(all) : 1;
    grid->dimensions = (int)dimensions;
    if (read_dimensions(form, ranks, grid, error))
        return error->code;
    if (grid->ranks != ranks)
        return from_fail(error, -EINVAL, grid_source, "a grid of %lld ranks for %lld",
                         (long long)grid->ranks, (long long)ranks);
    return 0;
}

int from_grid(const char *text, int64_t ranks, struct from_grid *grid, struct vs_error *error)
{
    *grid = (struct from_grid){.ranks = 1};
    if (text == NULL) {
        grid->ranks = ranks ? ranks : 1;
        return 0;
    }
    /* First parse it with one dimension, to count the distributions that are given. */
    json_t *root = translate_grid(text, 1, error);
    const json_t *form = json_object_get(json_object_get(root, "view"), "filetype");
    size_t dimensions = json_array_size(json_object_get(form, "distribs"));

    if (root && dimensions > FROM_DIMENSIONS_MAX) {
        fail_grid(error, "too many dimensions");
    } else if (root && dimensions > 1) {
        json_decref(root);
        root = translate_grid(text, (int)dimensions, error);
    }
    if (root && !error->code)
        read_form(root, ranks, grid, error);
    json_decref(root);
    return error->code;
}

/* One dimension of a rank's part. */

struct from_term from_constant(int64_t value)
{
    struct from_term term = {.constant = true, .value = value};

    snprintf(term.text, sizeof(term.text), "%" PRId64, value);
    return term;
}

struct from_term from_expression(const char *format, ...)
{
    struct from_term term = {.text = "("};
    va_list args;

    va_start(args, format);
    vsnprintf(term.text + 1, sizeof(term.text) - 2, format, args);
    va_end(args);
    strcat(term.text, ")");
    return term;
}

json_t *from_term_json(struct from_term term)
{
    return term.constant ? json_integer(term.value)
                         : json_stringn(term.text + 1, strlen(term.text) - 2);
}

/* Returns the rank's coordinate in dimension d. The last dimension varies fastest. */
static struct from_term coordinate_of(const struct from_grid *grid, int d)
{
    int64_t behind = 1;

    for (int i = d + 1; i < grid->dimensions; i++)
        behind *= grid->psizes[i];
    if (grid->psizes[d] == grid->ranks)
        return from_expression("rank");
    if (behind * grid->psizes[d] == grid->ranks)
        return from_expression("rank / %" PRId64, behind);
    if (behind == 1)
        return from_expression("rank %% %" PRId64, grid->psizes[d]);
    return from_expression("rank / %" PRId64 " %% %" PRId64, behind, grid->psizes[d]);
}

/* Computes the start and the length of the rank's block, limited to the array. */
static void find_block(struct from_axis *axis)
{
    const char *at = axis->coordinate.text;

    axis->start =
        from_expression("min(%s * %" PRId64 ", %" PRId64 ")", at, axis->block, axis->length);
    axis->count = from_expression("max(0, min(%" PRId64 ", %" PRId64 " - %s * %" PRId64 "))",
                                  axis->block, axis->length, at, axis->block);
}

/* Counts a rank's indices in a cyclic distribution: in whole blocks, and in the truncated last
   one. */
static void count_cyclic(struct from_axis *axis)
{
    int64_t whole = axis->length / axis->block, rest = axis->length % axis->block;
    const char *at = axis->coordinate.text;

    axis->blocks =
        from_expression("(%" PRId64 " - %s) / %" PRId64, whole + axis->ranks - 1, at, axis->ranks);
    axis->rest =
        from_expression("%" PRId64 " * (1 - min(1, (%s - %" PRId64 ") * (%s - %" PRId64 ")))", rest,
                        at, whole % axis->ranks, at, whole % axis->ranks);
    axis->count = from_expression("%" PRId64 " * %s", axis->block, axis->blocks.text);
    if (rest)
        axis->count = from_expression("%s + %s", axis->count.text, axis->rest.text);
}

struct from_axis from_axis(const struct from_variable *variable, const struct from_grid *grid,
                           int d)
{
    struct from_axis axis = {.length = variable->shape[d], .ranks = 1};

    axis.start = from_constant(0);
    axis.count = from_constant(axis.length);
    if (grid->dimensions != variable->dimensions || grid->psizes[d] == 1)
        return axis;
    axis.ranks = grid->psizes[d];
    axis.distribution = grid->distributions[d];
    axis.coordinate = coordinate_of(grid, d);
    axis.block = grid->blocks[d];
    if (axis.distribution == FROM_BLOCK) {
        if (!axis.block)
            axis.block = axis.length / axis.ranks + (axis.length % axis.ranks != 0);
        find_block(&axis);
    } else {
        axis.block = axis.block ? axis.block : 1;
        count_cyclic(&axis);
    }
    return axis;
}
