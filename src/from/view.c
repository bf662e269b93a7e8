/* SPDX-License-Identifier: MIT */
#include "view.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "axis.h"
#include "chunks.h"
#include "element.h"
#include "viewspec/base/integer.h"

/*
 * A variable without gaps is a darray, or a subarray where each rank has all of it. One with
 * records between those of others is made of loops, a dimension each. One in chunks is their parts
 * in the order of the file, and where each lies in memory.
 */

struct maker {
    const struct from_variable *variable;
    struct from_axis axes[FROM_DIMENSIONS_MAX];
    json_t *etype; /* of the view */
    json_t *leaf;  /* the element inside of the filetype */
};

static json_t *sizes(const int64_t *values, int count, int64_t least)
{
    json_t *list = json_array();

    for (int i = 0; i < count; i++)
        json_array_append_new(list, json_integer(vs_max(values[i], least)));
    return list;
}

/* All of the array, or nothing of it where it has no elements; an element where it is one. */
static json_t *whole(const struct from_variable *variable)
{
    static const int64_t starts[FROM_DIMENSIONS_MAX];
    int n = variable->dimensions;

    if (n == 0)
        return json_pack("{s:s, s:i}", "type", "contiguous", "count", 1);
    return json_pack("{s:s, s:o, s:o, s:o, s:s}", "type", "subarray", "sizes",
                     sizes(variable->shape, n, 1), "subsizes", sizes(variable->shape, n, 0),
                     "starts", sizes(starts, n, 0), "order", variable->fortran ? "Fortran" : "C");
}

static json_t *darray(const struct from_variable *variable, const struct from_grid *grid)
{
    static const char *const names[] = {"none", "block", "cyclic"};
    json_t *distribs = json_array(), *dargs = json_array();

    for (int d = 0; d < grid->dimensions; d++) {
        json_array_append_new(distribs, json_string(names[grid->distributions[d]]));
        json_array_append_new(dargs, grid->blocks[d] ? json_integer(grid->blocks[d]) : json_null());
    }
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:s}", "type", "darray", "gsizes",
                     sizes(variable->shape, variable->dimensions, 0), "psizes",
                     sizes(grid->psizes, grid->dimensions, 0), "distribs", distribs, "dargs", dargs,
                     "order", variable->fortran ? "Fortran" : "C");
}

/* child at count places, stride bytes apart. */
static json_t *loop(json_t *count, int64_t stride, json_t *child)
{
    return json_pack("{s:s, s:o, s:i, s:I, s:o}", "type", "hvector", "count", count, "blocklength",
                     1, "stride", (json_int_t)stride, "oldtype", child);
}

/* child so many bytes further on. */
static json_t *shifted(json_t *displacement, json_t *child)
{
    return json_pack("{s:s, s:i, s:[o], s:o}", "type", "hindexed_block", "blocklength", 1,
                     "displacements", displacement, "oldtype", child);
}

static json_t *expression(struct from_term term)
{
    return from_term_json(&term);
}

/*
 * Blocks in turn: whole ones, and what the rank has of the one that the end cuts. The rank's first
 * lies in front of each.
 */
static json_t *cyclic(const struct from_axis *axis, int64_t stride, json_t *child)
{
    int64_t whole = axis->length / axis->block, rest = axis->length % axis->block;
    int64_t round = vs_mul_capped(vs_mul_capped(axis->ranks, axis->block), stride);
    const char *at = axis->coordinate.text;
    json_t *block = loop(json_integer(axis->block), stride, json_incref(child));
    json_t *blocks = loop(expression(from_expression("(%" PRId64 " - %s) / %" PRId64,
                                                     whole + axis->ranks - 1, at, axis->ranks)),
                          round, block);
    json_t *first = expression(from_expression("min(%s * %" PRId64 ", %" PRId64 ") * %" PRId64, at,
                                               axis->block, axis->length, stride));
    json_t *tail = loop(expression(from_expression(
                            "%" PRId64 " * (1 - min(1, (%s - %" PRId64 ") * (%s - %" PRId64 ")))",
                            rest, at, whole % axis->ranks, at, whole % axis->ranks)),
                        stride, child);

    if (!rest) {
        json_decref(tail);
        return shifted(first, blocks);
    }
    return json_pack("{s:s, s:[i,i], s:[o,I], s:[o,o]}", "type", "struct", "blocklengths", 1, 1,
                     "displacements", first, (json_int_t)(whole * axis->block * stride), "types",
                     blocks, tail);
}

/* A dimension of children that lie stride bytes apart. */
static json_t *dimension(const struct from_axis *axis, int64_t stride, json_t *child)
{
    if (axis->ranks > 1 && axis->distribution == FROM_CYCLIC)
        return cyclic(axis, stride, child);
    json_t *block = loop(from_term_json(&axis->count), stride, child);
    if (axis->ranks == 1)
        return block;
    return shifted(expression(from_expression("%s * %" PRId64, axis->start.text, stride)), block);
}

/* The last dimensions, of which each rank has all, are elements side by side. */
static json_t *records(struct maker *maker)
{
    const struct from_variable *variable = maker->variable;
    int64_t stride = variable->size;
    int d = variable->dimensions - 1;

    for (; d > 0 && maker->axes[d].ranks == 1; d--)
        stride *= variable->shape[d];
    json_t *type = from_several(json_incref(maker->leaf), stride / variable->size);
    for (; d > 0; d--) {
        type = dimension(&maker->axes[d], stride, type);
        stride *= variable->shape[d];
    }
    return dimension(&maker->axes[0], variable->stride, type);
}

/* The etype's extent divides all distances, as that of a view must: elements may lie at odd ones.
 */
static int64_t grain_of(const struct from_variable *variable)
{
    int64_t grain = vs_gcd(variable->size, variable->stride);

    for (size_t i = 1; i < variable->chunks.count; i++)
        grain = vs_gcd(grain, variable->chunks.at[i] - variable->chunks.at[0]);
    return grain;
}

static void make_elements(struct maker *maker)
{
    const struct from_variable *variable = maker->variable;
    int64_t grain = grain_of(variable);

    maker->etype = json_incref(variable->etype);
    maker->leaf = json_string("etype");
    if (grain != variable->size) {
        maker->etype = from_spaced(maker->etype, grain);
        maker->leaf = from_spaced(maker->leaf, variable->size);
    }
}

/* The array that each rank's slice is. */
static json_t *local_shape(const struct maker *maker)
{
    json_t *shape = json_array();

    for (int d = 0; d < maker->variable->dimensions; d++)
        json_array_append_new(shape, from_term_json(&maker->axes[d].count));
    return shape;
}

static json_t *make_view(struct maker *maker, const struct from_grid *grid, int64_t elements)
{
    const struct from_variable *variable = maker->variable;
    bool shared = grid->dimensions && grid->dimensions == variable->dimensions && grid->ranks > 1;
    bool has_chunks = variable->chunks.count, spread = elements && (variable->stride || has_chunks);
    json_t *view = json_object(), *filetype;

    if (has_chunks)
        filetype = from_chunks(variable, maker->axes, maker->leaf);
    else if (spread)
        filetype = records(maker);
    else if (shared && elements)
        filetype = darray(variable, grid);
    else
        filetype = whole(variable);
    json_object_set_new(view, "disp",
                        json_integer(has_chunks ? variable->chunks.at[0] : variable->at));
    json_object_set(view, "etype", maker->etype);
    if (variable->datarep)
        json_object_set_new(view, "datarep", json_string(variable->datarep));
    json_object_set_new(view, "filetype", filetype);
    if (has_chunks && !from_chunks_in_order(variable))
        json_object_set_new(view, "buftype",
                            from_chunks_memory(variable, maker->axes, maker->leaf));
    json_object_set_new(view, "tiles", json_integer(1));
    if (spread || variable->dimensions == 0)
        json_object_set_new(view, "shape", local_shape(maker));
    return view;
}

json_t *from_view(const struct from_variable *variable, const struct from_grid *grid,
                  struct vs_error *error)
{
    struct maker maker = {.variable = variable};
    json_t *view;

    for (int d = 0; d < variable->dimensions; d++) {
        maker.axes[d] = from_axis(variable, grid, d);
        if (variable->chunks.count && maker.axes[d].ranks > 1 &&
            maker.axes[d].distribution == FROM_CYCLIC) {
            from_fail(error, -EINVAL, variable->name,
                      "a variable in chunks cannot be distributed cyclically");
            return NULL;
        }
    }
    make_elements(&maker);
    view = make_view(&maker, grid, from_elements(variable));
    json_decref(maker.etype);
    json_decref(maker.leaf);
    if (view == NULL)
        from_fail(error, -ENOMEM, variable->name, "%s", strerror(ENOMEM));
    return view;
}
