/* SPDX-License-Identifier: MIT */
#include "hdf5_boxes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "viewspec/base/list.h"

/* Returns the number of integers in a record. */
static size_t width_of(const struct from_boxes *boxes)
{
    return 1 + (size_t)boxes->dimensions * (boxes->even ? 1 : 3);
}

int64_t *from_boxes_record(const struct from_boxes *boxes, size_t number)
{
    return boxes->records + number * width_of(boxes);
}

int from_boxes_add(struct from_boxes *boxes, int64_t at, const int64_t *start,
                   const int64_t *length, const int64_t *shape)
{
    size_t n = (size_t)boxes->dimensions, bytes = n * sizeof(*start);
    int64_t *more =
        vs_list_grow(boxes->records, boxes->count, &boxes->room, width_of(boxes) * sizeof(*more));

    if (more == NULL)
        return -ENOMEM;
    boxes->records = more;
    int64_t *record = from_boxes_record(boxes, boxes->count++);
    record[0] = at;
    memcpy(record + 1, start, bytes);
    if (!boxes->even) {
        memcpy(record + 1 + n, length, bytes);
        memcpy(record + 1 + 2 * n, shape, bytes);
    }
    return 0;
}

static int compare_boxes(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* Returns the displacement after the last element of a box. The boxes must not be even. */
static int64_t end_of(const struct from_boxes *boxes, const int64_t *record, int64_t size)
{
    size_t n = (size_t)boxes->dimensions;
    int64_t end = record[0] + size, stride = size;

    for (size_t d = n; d-- > 0;) {
        end += (record[1 + n + d] - 1) * stride;
        stride *= record[1 + 2 * n + d];
    }
    return end;
}

/* Copies some integers of each record, from number first on. Returns NULL if out of memory. */
static int64_t *column(const struct from_boxes *boxes, size_t first, size_t numbers)
{
    int64_t *values = calloc(boxes->count * numbers, sizeof(*values));

    for (size_t i = 0; i < boxes->count && values; i++)
        memcpy(values + i * numbers, from_boxes_record(boxes, i) + first,
               numbers * sizeof(*values));
    return values;
}

int from_boxes_keep(struct from_boxes *boxes, struct from_variable *variable)
{
    struct from_chunks *chunks = &variable->chunks;
    size_t n = (size_t)boxes->dimensions;

    qsort(boxes->records, boxes->count, width_of(boxes) * sizeof(*boxes->records), compare_boxes);
    for (size_t i = 1; i < boxes->count && !boxes->even; i++)
        if (end_of(boxes, from_boxes_record(boxes, i - 1), variable->size) >
            *from_boxes_record(boxes, i)) {
            from_refuse(variable, "its parts lie between each other, or are the same");
            return 0;
        }
    chunks->count = boxes->count;
    chunks->at = column(boxes, 0, 1);
    chunks->starts = column(boxes, 1, n);
    if (!chunks->at || !chunks->starts)
        return -ENOMEM;
    if (boxes->even)
        return 0;
    chunks->lengths = column(boxes, 1 + n, n);
    chunks->shapes = column(boxes, 1 + 2 * n, n);
    return chunks->lengths && chunks->shapes ? 0 : -ENOMEM;
}
