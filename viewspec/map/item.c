/* SPDX-License-Identifier: MIT */
#include "item.h"

#include <stdlib.h>

#include "viewspec/base/search.h"

int64_t vs_item_span(const struct vs_item *item)
{
    const struct vs_shape *shape = item->shape;

    return vs_item_is_loop(item) ? (item->count - 1) * shape->stride + shape->child->span
                                 : shape->span;
}

int64_t vs_item_below(const struct vs_item *item, int64_t place)
{
    const struct vs_shape *shape = item->shape;
    int64_t offset = place - item->origin;

    if (!vs_item_is_loop(item) || offset <= 0)
        return vs_shape_below(shape, offset);
    if (offset >= vs_item_span(item))
        return item->count * shape->child->size;
    return offset / shape->stride * shape->child->size +
           vs_shape_below(shape->child, offset % shape->stride);
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
static bool trim_loop(struct vs_item *item)
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
        if (!trim_loop(item))
            return false;
        if (item->count > 1)
            break;
        *item = vs_item_of(item->shape->child, item->origin, item);
    }
    item->lo = vs_max(item->lo, item->origin);
    item->hi = vs_min(item->hi, item->origin + vs_item_span(item));
    return item->lo < item->hi;
}

static int compare_items(const void *left, const void *right)
{
    const struct vs_item *a = left, *b = right;

    if (a->lo != b->lo)
        return a->lo < b->lo ? -1 : 1;
    if (a->hi != b->hi)
        return a->hi < b->hi ? -1 : 1;
    if (a->origin != b->origin)
        return a->origin < b->origin ? -1 : 1;
    return (a->shape > b->shape) - (a->shape < b->shape);
}

static bool same_items(const struct vs_item *a, const struct vs_item *b)
{
    return a->shape == b->shape && a->origin == b->origin && a->lo == b->lo && a->hi == b->hi &&
           (!vs_item_is_loop(a) || a->count == b->count);
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
    if (kept > 1)
        qsort(items, (size_t)kept, sizeof(*items), compare_items);
    for (int64_t i = 0; i < kept; i++)
        if (distinct && same_items(&items[distinct - 1], &items[i]))
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
