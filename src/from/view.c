/* SPDX-License-Identifier: MIT */
#include "spec.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "viewspec/base/integer.h"
#include "viewspec/spec.h"

/* Converting a variable to a view. */

/* Variables in chunks. */

/* Returns true if the elements of a box are consecutive in the variable's array. */
static bool is_range(const struct from_variable *variable, const int64_t *length)
{
    int n = variable->dimensions, d = 0;

    while (d < n && (length[d] == 1 || variable->shape[d] == 1))
        d++;
    for (d++; d < n; d++)
        if (length[d] < variable->shape[d])
            return false;
    return true;
}

/* Returns true if a box that starts at a begins before one that starts at b in the array. */
static bool is_before(const int64_t *a, const int64_t *b, int dimensions)
{
    for (int d = 0; d < dimensions; d++)
        if (a[d] != b[d])
            return a[d] < b[d];
    return false;
}

bool from_chunks_in_order(const struct from_variable *variable)
{
    const int64_t *previous = NULL;

    for (size_t i = 0; i < variable->boxes.count; i++) {
        struct from_box box = from_box(&variable->boxes, i);
        if (!is_range(variable, box.length) ||
            (previous && !is_before(previous, box.start, variable->dimensions)))
            return false;
        previous = box.start;
    }
    return true;
}

/* Returns the position of an index in a chunk's part that begins at start: 0 .. length. */
static struct from_term clamped_term(const struct from_term *index, int64_t start, int64_t length)
{
    if (index->constant)
        return from_constant(vs_max(0, vs_min(index->value - start, length)));
    return from_expression("max(0, min(%s - %" PRId64 ", %" PRId64 "))", index->text, start,
                           length);
}

static struct from_term difference_of(const struct from_term *a, const struct from_term *b)
{
    if (a->constant && b->constant)
        return from_constant(a->value - b->value);
    return from_expression("%s - %s", a->text, b->text);
}

/* A rank's part of one dimension of a chunk. first counts from the beginning of the chunk. */
struct part {
    struct from_term first, count;
};

static struct part part_of(const struct from_axis *axis, int64_t start, int64_t length)
{
    struct part part = {axis->start, axis->count};

    if (length == axis->length)
        return part;
    struct from_term end = axis->ranks == 1
                               ? axis->count
                               : from_expression("%s + %s", axis->start.text, axis->count.text);
    struct from_term last = clamped_term(&end, start, length);
    part.first = clamped_term(&axis->start, start, length);
    part.count = difference_of(&last, &part.first);
    return part;
}

/* Returns the beginning of the part in the rank's array. An empty part may begin anywhere
   inside. */
static struct from_term place_of(const struct part *part, const struct from_axis *axis,
                                 int64_t start)
{
    if (axis->ranks == 1)
        return from_constant(start + part->first.value);
    return from_expression("max(0, min(%s + %" PRId64 " - %s, %s - %s))", part->first.text, start,
                           axis->start.text, axis->count.text, part->count.text);
}

/* Returns the size of an array, which must have at least one index. */
static json_t *size_of(const struct from_axis *axis)
{
    if (axis->count.constant)
        return from_term_json(axis->count);
    return from_term_json(from_expression("max(1, %s)", axis->count.text));
}

/* Returns the datatype of a rank's part of a box, in the file or in the rank's array. */
static json_t *make_part(const struct from_box *box, const struct from_axis *axes, int dimensions,
                         bool in_memory, json_t *leaf)
{
    json_t *sizes = json_array(), *subsizes = json_array(), *starts = json_array();

    for (int d = 0; d < dimensions; d++) {
        const struct from_axis *axis = &axes[d];
        struct part part = part_of(axis, box->start[d], box->length[d]);
        struct from_term place = in_memory ? place_of(&part, axis, box->start[d]) : part.first;

        json_array_append_new(sizes, in_memory ? size_of(axis) : json_integer(box->shape[d]));
        json_array_append_new(subsizes, from_term_json(part.count));
        json_array_append_new(starts, from_term_json(place));
    }
    return json_pack("{s:s, s:o, s:o, s:o, s:s, s:O}", "type", "subarray", "sizes", sizes,
                     "subsizes", subsizes, "starts", starts, "order", "C", "oldtype", leaf);
}

/*
 * Makes the rank's parts of all chunks, in file order. Their displacements count from the first
 * chunk. If in_memory is true, they are the parts' positions in the rank's array instead. leaf is
 * an element. No dimension is cyclic. Returns a new reference, or NULL if memory is exhausted.
 */
static json_t *make_parts(const struct from_variable *variable, const struct from_axis *axes,
                          bool in_memory, json_t *leaf)
{
    json_t *parts = from_struct();
    int64_t first = *from_box(&variable->boxes, 0).at;

    for (size_t i = 0; i < variable->boxes.count; i++) {
        struct from_box box = from_box(&variable->boxes, i);
        from_member(parts, in_memory ? 0 : *box.at - first,
                    make_part(&box, axes, variable->dimensions, in_memory, leaf));
    }
    return parts;
}

/* Views. */

/*
 * A variable without gaps is a darray, or a subarray if each rank has the whole variable. If a
 * variable's records alternate with other variables' records, the view consists of loops, one for
 * each dimension. A variable in chunks has their parts in file order, and their positions in
 * memory.
 */

struct maker {
    const struct from_variable *variable;
    struct from_axis axes[FROM_DIMENSIONS_MAX];
    json_t *etype; /* of the view */
    json_t *leaf;  /* an element in the filetype */
};

json_t *from_sizes(const int64_t *values, int count, int64_t least)
{
    json_t *list = json_array();

    for (int i = 0; i < count; i++)
        json_array_append_new(list, json_integer(vs_max(values[i], least)));
    return list;
}

/* Makes the type of the whole array, of nothing if it has no elements, or of one element if it
   is a scalar. */
static json_t *make_whole(const struct from_variable *variable)
{
    static const int64_t starts[FROM_DIMENSIONS_MAX];
    int n = variable->dimensions;

    if (n == 0)
        return from_contiguous(1);
    return json_pack("{s:s, s:o, s:o, s:o, s:s}", "type", "subarray", "sizes",
                     from_sizes(variable->shape, n, 1), "subsizes",
                     from_sizes(variable->shape, n, 0), "starts", from_sizes(starts, n, 0), "order",
                     variable->fortran ? "Fortran" : "C");
}

static json_t *make_darray(const struct from_variable *variable, const struct from_grid *grid)
{
    static const char *const names[] = {"none", "block", "cyclic"};
    json_t *distribs = json_array(), *dargs = json_array();

    for (int d = 0; d < grid->dimensions; d++) {
        json_array_append_new(distribs, json_string(names[grid->distributions[d]]));
        json_array_append_new(dargs, grid->blocks[d] ? json_integer(grid->blocks[d]) : json_null());
    }
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:s}", "type", "darray", "gsizes",
                     from_sizes(variable->shape, variable->dimensions, 0), "psizes",
                     from_sizes(grid->psizes, grid->dimensions, 0), "distribs", distribs, "dargs",
                     dargs, "order", variable->fortran ? "Fortran" : "C");
}

/* Repeats child count times, stride bytes apart. */
static json_t *make_loop(json_t *count, int64_t stride, json_t *child)
{
    return json_pack("{s:s, s:o, s:i, s:I, s:o}", "type", "hvector", "count", count, "blocklength",
                     1, "stride", (json_int_t)stride, "oldtype", child);
}

/* Moves child by displacement bytes. */
static json_t *shifted_term(json_t *displacement, json_t *child)
{
    return json_pack("{s:s, s:i, s:[o], s:o}", "type", "hindexed_block", "blocklength", 1,
                     "displacements", displacement, "oldtype", child);
}

/*
 * Makes the loop of a cyclic distribution: the rank's whole blocks, and its part of the truncated
 * last block. Displacements begin at the rank's first block.
 */
static json_t *cyclic_loop(const struct from_axis *axis, int64_t stride, json_t *child)
{
    int64_t rest = axis->length % axis->block;
    int64_t round = vs_mul_capped(vs_mul_capped(axis->ranks, axis->block), stride);
    json_t *block = make_loop(json_integer(axis->block), stride, json_incref(child));
    json_t *blocks = make_loop(from_term_json(axis->blocks), round, block);
    json_t *first =
        from_term_json(from_expression("min(%s * %" PRId64 ", %" PRId64 ") * %" PRId64,
                                       axis->coordinate.text, axis->block, axis->length, stride));
    json_t *tail = make_loop(from_term_json(axis->rest), stride, child);

    if (!rest) {
        json_decref(tail);
        return shifted_term(first, blocks);
    }
    return json_pack("{s:s, s:[i,i], s:[o,I], s:[o,o]}", "type", "struct", "blocklengths", 1, 1,
                     "displacements", first, (json_int_t)((axis->length - rest) * stride), "types",
                     blocks, tail);
}

/* Makes a dimension of children that are stride bytes apart. */
static json_t *loop_over(const struct from_axis *axis, int64_t stride, json_t *child)
{
    if (axis->ranks > 1 && axis->distribution == FROM_CYCLIC)
        return cyclic_loop(axis, stride, child);
    json_t *block = make_loop(from_term_json(axis->count), stride, child);
    if (axis->ranks == 1)
        return block;
    return shifted_term(from_term_json(from_expression("%s * %" PRId64, axis->start.text, stride)),
                        block);
}

/* The last dimensions, if each rank has all of them, become adjacent elements. */
static json_t *make_records(struct maker *maker)
{
    const struct from_variable *variable = maker->variable;
    int64_t stride = variable->size;
    int d = variable->dimensions - 1;

    for (; d > 0 && maker->axes[d].ranks == 1; d--)
        stride *= variable->shape[d];
    json_t *type = from_several(json_incref(maker->leaf), stride / variable->size);
    for (; d > 0; d--) {
        type = loop_over(&maker->axes[d], stride, type);
        stride *= variable->shape[d];
    }
    return loop_over(&maker->axes[0], variable->stride, type);
}

/* Returns an extent of the etype that divides all distances, as a view requires: elements may
   have odd distances. */
static int64_t grain_of(const struct from_variable *variable)
{
    int64_t grain = vs_gcd(variable->size, variable->stride);

    for (size_t i = 1; i < variable->boxes.count; i++)
        grain =
            vs_gcd(grain, *from_box(&variable->boxes, i).at - *from_box(&variable->boxes, 0).at);
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

/* Returns the shape of each rank's slice. */
static json_t *local_shape(const struct maker *maker)
{
    json_t *shape = json_array();

    for (int d = 0; d < maker->variable->dimensions; d++)
        json_array_append_new(shape, from_term_json(maker->axes[d].count));
    return shape;
}

/*
 * Adds the labels that a view can have: the variable's name, and the names of its dimensions unless
 * two are equal or have other characters than labels may have.
 */
static void add_labels(const struct from_variable *variable, json_t *view)
{
    const char *dims[FROM_DIMENSIONS_MAX];

    if (vs_is_label(variable->name))
        json_object_set_new(view, "name", json_string(variable->name));
    if (variable->dims == NULL || json_array_size(variable->dims) == 0)
        return;
    for (size_t i = 0; i < json_array_size(variable->dims); i++) {
        dims[i] = json_string_value(json_array_get(variable->dims, i));
        if (dims[i] == NULL || !vs_is_label(dims[i]))
            return;
        for (size_t j = 0; j < i; j++)
            if (strcmp(dims[i], dims[j]) == 0)
                return;
    }
    json_object_set(view, "dims", variable->dims);
}

static json_t *make_view(struct maker *maker, const struct from_grid *grid, int64_t elements)
{
    const struct from_variable *variable = maker->variable;
    bool shared = grid->dimensions && grid->dimensions == variable->dimensions && grid->ranks > 1;
    bool has_boxes = variable->boxes.count, spread = elements && (variable->stride || has_boxes);
    json_t *view = json_object(), *filetype;

    if (has_boxes)
        filetype = make_parts(variable, maker->axes, false, maker->leaf);
    else if (spread)
        filetype = make_records(maker);
    else if (shared && elements)
        filetype = make_darray(variable, grid);
    else
        filetype = make_whole(variable);
    json_object_set_new(view, "disp",
                        json_integer(has_boxes ? *from_box(&variable->boxes, 0).at : variable->at));
    json_object_set(view, "etype", maker->etype);
    if (variable->datarep)
        json_object_set_new(view, "datarep", json_string(variable->datarep));
    json_object_set_new(view, "filetype", filetype);
    if (has_boxes && !from_chunks_in_order(variable))
        json_object_set_new(view, "buftype", make_parts(variable, maker->axes, true, maker->leaf));
    json_object_set_new(view, "tiles", json_integer(1));
    if (spread || variable->dimensions == 0)
        json_object_set_new(view, "shape", local_shape(maker));
    return view;
}

/* Adds the view of the whole variable, if its parts do not belong to a subarray or darray. */
static void add_global(const struct from_variable *variable, json_t *view, struct vs_error *error)
{
    static const struct from_grid one = {.ranks = 1};
    static const char *const same[] = {"etype", "datarep", "tiles", "name", "dims"};
    json_t *whole = from_view(variable, &one, error);

    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
        json_object_del(whole, same[i]);
    json_object_set_new(view, "global", whole);
}

/* Checks that the grid fits the variable, by the rules of a darray. Variables in records or chunks
   are not darrays, so the compiler of views does not check them. */
static int check_grid(const struct from_variable *variable, const struct from_grid *grid,
                      struct vs_error *error)
{
    if (grid->ranks == 1 || grid->dimensions != variable->dimensions || !from_elements(variable))
        return 0;
    for (int d = 0; d < grid->dimensions; d++) {
        int64_t blocks = grid->psizes[d], length = grid->blocks[d], size = variable->shape[d];

        if (variable->boxes.count && blocks > 1 && grid->distributions[d] == FROM_CYCLIC)
            return from_fail(error, -EINVAL, variable->name,
                             "a variable in chunks cannot be distributed cyclically");
        if (grid->distributions[d] == FROM_BLOCK && length && length < vs_ceil_div(size, blocks))
            return from_fail(error, -EINVAL, variable->name,
                             "%" PRId64 " blocks of %" PRId64 " do not cover %" PRId64 " elements",
                             blocks, length, size);
    }
    return 0;
}

json_t *from_view(const struct from_variable *variable, const struct from_grid *grid,
                  struct vs_error *error)
{
    struct maker maker = {.variable = variable};
    json_t *view;

    if (check_grid(variable, grid, error))
        return NULL;
    for (int d = 0; d < variable->dimensions; d++)
        maker.axes[d] = from_axis(variable, grid, d);
    make_elements(&maker);
    view = make_view(&maker, grid, from_elements(variable));
    add_labels(variable, view);
    if (grid->ranks > 1 && json_object_get(view, "shape"))
        add_global(variable, view, error);
    json_decref(maker.etype);
    json_decref(maker.leaf);
    if (view == NULL)
        from_fail_code(error, -ENOMEM, variable->name);
    return view;
}
