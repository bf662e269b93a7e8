/* SPDX-License-Identifier: MIT */
#include "shape.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "viewspec/base/integer.h"

/*
 * Orders shapes. Children are compared by their addresses, because equal ones are one object. A
 * part has no padding, and the same shapes and offsets give the same numbers of bytes before it.
 */
static int compare_shapes(const void *left, const void *right)
{
    const struct vs_shape *a = left, *b = right;
    int order = vs_compare(a->kind, b->kind);

    if (order == 0)
        order = vs_compare(a->size, b->size);
    if (order == 0)
        order = vs_compare(a->count, b->count);
    if (order == 0)
        order = vs_compare(a->stride, b->stride);
    if (order == 0)
        order = vs_compare((intptr_t)a->child, (intptr_t)b->child);
    if (order == 0)
        order = vs_compare(a->disjoint, b->disjoint);
    return order == 0 && a->kind == VS_SHAPE_LIST
               ? memcmp(a->parts, b->parts, (size_t)a->count * sizeof(*a->parts))
               : order;
}

/* Returns the table's shape that equals draft. If it is new, draft's parts are copied. */
static const struct vs_shape *shapes_intern(struct vs_shapes *shapes, const struct vs_shape *draft)
{
    const struct vs_shape *const *known = tfind(draft, &shapes->tree, compare_shapes);
    size_t bytes = draft->kind == VS_SHAPE_LIST ? (size_t)draft->count * sizeof(*draft->parts) : 0;
    struct vs_shape *shape;

    if (known)
        return *known;
    shape = malloc(sizeof(*shape) + bytes);
    if (shape == NULL)
        return NULL;
    *shape = *draft;
    if (bytes)
        shape->parts = memcpy(shape + 1, draft->parts, bytes);
    if (tsearch(shape, &shapes->tree, compare_shapes))
        return shape;
    free(shape);
    return NULL;
}

const struct vs_shape *vs_shape_loop(struct vs_shapes *shapes, int64_t count, int64_t stride,
                                     const struct vs_shape *child)
{
    struct vs_shape draft;

    if (child == NULL || count == 1)
        return child;
    stride = stride < 0 ? -stride : stride;
    draft = (struct vs_shape){
        .kind = VS_SHAPE_LOOP,
        .disjoint = child->disjoint && child->span <= stride,
        .size = count * child->size,
        .span = (count - 1) * stride + child->span,
        .count = count,
        .stride = stride,
        .child = child,
    };
    return shapes_intern(shapes, &draft);
}

static const struct vs_shape *shape_of(struct vs_shapes *shapes, const struct vs_node *node);

static bool fill_blocks(struct vs_shapes *shapes, const struct vs_node *node,
                        struct vs_shape_part *parts)
{
    const struct vs_shape *child = shape_of(shapes, node->child);

    for (int64_t i = 0; i < node->count; i++) {
        int64_t length = node->before[i + 1] - node->before[i];
        int64_t start = node->base + node->displacements[i] + node->child->lo - node->lo;

        parts[i].offset = start + vs_min((length - 1) * node->stride, 0);
        parts[i].shape = vs_shape_loop(shapes, length, node->stride, child);
        if (!parts[i].shape)
            return false;
    }
    return true;
}

static bool fill_sequence(struct vs_shapes *shapes, const struct vs_node *node,
                          struct vs_shape_part *parts)
{
    for (int64_t i = 0; i < node->count; i++) {
        parts[i].offset = node->base + node->children[i]->lo - node->lo;
        parts[i].shape = shape_of(shapes, node->children[i]);
        if (!parts[i].shape)
            return false;
    }
    return true;
}

static const struct vs_shape *shape_of_list(struct vs_shapes *shapes, const struct vs_node *node)
{
    const struct vs_shape *shape;
    struct vs_shape_part *parts = calloc((size_t)node->count, sizeof(*parts));
    bool filled =
        parts && (node->kind == VS_BLOCKS ? fill_blocks : fill_sequence)(shapes, node, parts);
    int64_t before = 0;
    struct vs_shape draft = {
        .kind = VS_SHAPE_LIST,
        .disjoint = node->disjoint,
        .size = node->size,
        .span = node->hi - node->lo,
        .count = node->count,
        .parts = parts,
    };

    for (int64_t i = 0; filled && i < node->count; i++) {
        parts[i].before = before;
        before += parts[i].shape->size;
    }
    shape = filled ? shapes_intern(shapes, &draft) : NULL;
    free(parts);
    return shape;
}

/* Only lists have the same part twice. Remembering them bounds a walk by the length of the text. */
static const struct vs_shape *known_list(struct vs_shapes *shapes, const struct vs_node *node)
{
    const struct vs_shape *shape = vs_memo_find(&shapes->lists, node);

    if (shape)
        return shape;
    shape = shape_of_list(shapes, node);
    return shape && vs_memo_add(&shapes->lists, node, shape) ? shape : NULL;
}

static const struct vs_shape *shape_of(struct vs_shapes *shapes, const struct vs_node *node)
{
    if (node->kind == VS_RUN) {
        struct vs_shape draft = {
            .kind = VS_SHAPE_RUN, .disjoint = true, .size = node->size, .span = node->size};
        return shapes_intern(shapes, &draft);
    }
    if (node->kind == VS_LOOP)
        return vs_shape_loop(shapes, node->count, node->stride, shape_of(shapes, node->child));
    return known_list(shapes, node);
}

const struct vs_shape *vs_shape_of_node(struct vs_shapes *shapes, const struct vs_node *node)
{
    const struct vs_shape *shape = shape_of(shapes, node);

    vs_memo_free(&shapes->lists);
    return shape;
}

int64_t vs_shape_below(const struct vs_shape *shape, int64_t offset)
{
    const struct vs_shape_part *part;

    if (offset <= 0)
        return 0;
    if (offset >= shape->span)
        return shape->size;
    switch (shape->kind) {
    case VS_SHAPE_LOOP:
        return offset / shape->stride * shape->child->size +
               vs_shape_below(shape->child, offset % shape->stride);
    case VS_SHAPE_LIST:
        part = &shape->parts[VS_FIRST(i, 1, shape->count, shape->parts[i].offset >= offset) - 1];
        return part->before + vs_shape_below(part->shape, offset - part->offset);
    default:
        return offset;
    }
}

int64_t vs_shape_place(const struct vs_shape *shape, int64_t number)
{
    const struct vs_shape_part *part;

    switch (shape->kind) {
    case VS_SHAPE_LOOP:
        return number / shape->child->size * shape->stride +
               vs_shape_place(shape->child, number % shape->child->size);
    case VS_SHAPE_LIST:
        part = &shape->parts[VS_FIRST(i, 1, shape->count, shape->parts[i].before > number) - 1];
        return part->offset + vs_shape_place(part->shape, number - part->before);
    default:
        return number;
    }
}

void vs_shapes_free(struct vs_shapes *shapes)
{
    tdestroy(shapes->tree, free);
}

int64_t vs_item_span(const struct vs_item *item)
{
    const struct vs_shape *shape = item->shape;

    return vs_item_is_loop(item) ? (item->count - 1) * shape->stride + shape->child->span
                                 : shape->span;
}

int64_t vs_item_below(const struct vs_item *item, int64_t place)
{
    struct vs_shape shape = *item->shape;

    if (vs_item_is_loop(item)) {
        shape.span = vs_item_span(item);
        shape.size = item->count * shape.child->size;
    }
    return vs_shape_below(&shape, place - item->origin);
}

struct vs_item vs_item_of(const struct vs_shape *shape, int64_t origin,
                          const struct vs_item *within)
{
    return (struct vs_item){
        .shape = shape,
        .origin = origin,
        .count = shape->count,
        .lo = within->lo,
        .hi = within->hi,
        .twice = within->twice,
    };
}

/* Drops a loop's iterations outside [lo, hi). Returns false if none is left. */
static bool item_trim_loop(struct vs_item *item)
{
    const struct vs_shape *shape = item->shape;
    int64_t first = 0, behind = item->count;

    if (shape->stride == 0) {
        item->twice = true;
        item->count = 1;
        return true;
    }
    first = vs_max(first,
                   vs_floor_div(item->lo - item->origin - shape->child->span, shape->stride) + 1);
    behind = vs_min(behind, vs_ceil_div(item->hi - item->origin, shape->stride));
    if (first >= behind)
        return false;
    item->origin += first * shape->stride;
    item->count = behind - first;
    return true;
}

/* Clips [lo, hi) to the item's bytes, and turns a loop of one iteration into its child. */
bool vs_item_trim(struct vs_item *item)
{
    while (vs_item_is_loop(item)) {
        if (!item_trim_loop(item))
            return false;
        if (item->count > 1)
            break;
        *item = vs_item_of(item->shape->child, item->origin, item);
    }
    item->lo = vs_max(item->lo, item->origin);
    item->hi = vs_min(item->hi, item->origin + vs_item_span(item));
    return item->lo < item->hi;
}

/* Sorts by lo first. Returns 0 for equal items. The shape of an item that is no loop determines its
   count. */
static int items_compare(const void *left, const void *right)
{
    const struct vs_item *a = left, *b = right;
    int order = vs_compare(a->lo, b->lo);

    if (order == 0)
        order = vs_compare(a->hi, b->hi);
    if (order == 0)
        order = vs_compare(a->origin, b->origin);
    if (order == 0)
        order = vs_compare(a->count, b->count);
    return order != 0 ? order : vs_compare((intptr_t)a->shape, (intptr_t)b->shape);
}

/* Equal items become one with the flag `twice`. */
int64_t vs_items_tidy(struct vs_item *items, int64_t count)
{
    int64_t kept = 0, distinct = 0;

    for (int64_t i = 0; i < count; i++) {
        struct vs_item item = items[i];
        if (vs_item_trim(&item))
            items[kept++] = item;
    }
    qsort(items, (size_t)kept, sizeof(*items), items_compare);
    for (int64_t i = 0; i < kept; i++)
        if (distinct && items_compare(&items[distinct - 1], &items[i]) == 0)
            items[distinct - 1].twice = true;
        else
            items[distinct++] = items[i];
    return distinct;
}

/* Requires runs in the order of lo. */
void vs_items_sweep(const struct vs_item *items, int64_t count, struct vs_tally *tally)
{
    int64_t covered_to = items[0].lo, many_to = items[0].lo;

    for (int64_t i = 0; i < count; i++) {
        int64_t shared_to = items[i].twice ? items[i].hi : vs_min(items[i].hi, covered_to);

        tally->covered += vs_max(0, items[i].hi - vs_max(items[i].lo, covered_to));
        tally->many += vs_max(0, shared_to - vs_max(items[i].lo, many_to));
        covered_to = vs_max(covered_to, items[i].hi);
        many_to = vs_max(many_to, shared_to);
    }
}

/* Returns the parts of a disjoint list that [lo, hi) can touch, or all parts of another list. */
void vs_item_parts(const struct vs_item *item, int64_t *first, int64_t *behind)
{
    const struct vs_shape *shape = item->shape;
    int64_t lo = item->lo - item->origin, hi = item->hi - item->origin;

    *first = 0;
    *behind = shape->count;
    if (!shape->disjoint)
        return;
    *first = VS_FIRST(i, 1, shape->count, shape->parts[i].offset > lo) - 1;
    *behind = VS_FIRST(i, *first, shape->count, shape->parts[i].offset >= hi);
}
