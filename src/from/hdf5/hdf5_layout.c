/* SPDX-License-Identifier: MIT */
#include "hdf5_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "viewspec/base/integer.h"
#include "viewspec/base/list.h"
#include "viewspec/members/members.h"

/* The positions of a variable's values: boxes of one file, or of a whole of several. */

/* Boxes. */

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

/* Copies some integers of each record, from number first on. Returns NULL if memory is
   exhausted. */
static int64_t *column_of(const struct from_boxes *boxes, size_t first, size_t numbers)
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
    chunks->at = column_of(boxes, 0, 1);
    chunks->starts = column_of(boxes, 1, n);
    if (!chunks->at || !chunks->starts)
        return -ENOMEM;
    if (boxes->even)
        return 0;
    chunks->lengths = column_of(boxes, 1 + n, n);
    chunks->shapes = column_of(boxes, 1 + 2 * n, n);
    return chunks->lengths && chunks->shapes ? 0 : -ENOMEM;
}

/* The whole of several files. */

/* Files and holes begin at multiples of this. */
#define ALIGNMENT 8

/* Half of the range, so that sums do not overflow. */
#define WHOLE_MAX (INT64_MAX / 2)

/* Extends the whole by that many bytes. Returns their displacement, or -EFBIG. */
static int64_t extend_whole(struct from_whole *whole, int64_t bytes)
{
    int64_t at = whole->end + (ALIGNMENT - whole->end % ALIGNMENT) % ALIGNMENT;

    if (bytes > WHOLE_MAX - at)
        return -EFBIG;
    whole->end = at + bytes;
    return at;
}

int from_whole_add(struct from_whole *whole, const char *path, int64_t *at, int64_t *size)
{
    struct from_whole_file *more, file = {0};
    struct stat st;

    if (stat(path, &st) != 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EINVAL;
    json_t *text = json_string(path);
    if (text == NULL) /* not UTF-8, which a spec requires */
        return -EILSEQ;
    json_decref(text);
    for (size_t i = 0; i < whole->count; i++) {
        const struct from_whole_file *known = &whole->files[i];
        if (known->device == st.st_dev && known->inode == st.st_ino) {
            *at = known->at;
            *size = known->size;
            return 0;
        }
    }
    more = vs_list_grow(whole->files, whole->count, &whole->room, sizeof(*more));
    if (more == NULL)
        return -ENOMEM;
    whole->files = more;
    file = (struct from_whole_file){NULL, st.st_dev, st.st_ino, extend_whole(whole, st.st_size),
                                    st.st_size};
    file.path = file.at < 0 ? NULL : strdup(path);
    if (file.path == NULL)
        return file.at < 0 ? (int)file.at : -ENOMEM;
    whole->files[whole->count++] = file;
    *at = file.at;
    *size = file.size;
    return 0;
}

/* Appends count ranges of size bytes to "fill", the first at displacement at. Returns 0 or
   -ENOMEM. */
static int add_fill(struct from_whole *whole, int64_t at, int64_t size, int64_t count,
                    int64_t every, const unsigned char *value, size_t length)
{
    char text[2 * VS_FILL_BYTES + 1];
    json_t *fill;

    for (size_t i = 0; i < length; i++)
        sprintf(text + 2 * i, "%02x", value[i]);
    if (!whole->fills)
        whole->fills = json_array();
    fill =
        json_pack("{s:I, s:I, s:s}", "at", (json_int_t)at, "size", (json_int_t)size, "value", text);
    if (count > 1) {
        json_object_set_new(fill, "count", json_integer(count));
        json_object_set_new(fill, "every", json_integer(every));
    }
    return json_array_append_new(whole->fills, fill) ? -ENOMEM : 0;
}

int64_t from_whole_hole(struct from_whole *whole, int64_t bytes, const unsigned char *value,
                        size_t length)
{
    int64_t at = extend_whole(whole, bytes);
    int code = 0;

    if (at >= 0 && length <= VS_FILL_BYTES)
        code = add_fill(whole, at, bytes, 1, bytes, value, length);
    for (size_t i = 0; at >= 0 && length > VS_FILL_BYTES && i < length && !code;
         i += VS_FILL_BYTES) {
        size_t part = (size_t)vs_min(VS_FILL_BYTES, (int64_t)(length - i));
        code = add_fill(whole, at + (int64_t)i, (int64_t)part, bytes / (int64_t)length,
                        (int64_t)length, value + i, part);
    }
    return code ? code : at;
}

json_t *from_whole_members(const struct from_whole *whole)
{
    json_t *names = json_array(), *views = json_array(), *members;

    for (size_t i = 0; i < whole->count; i++) {
        const struct from_whole_file *file = &whole->files[i];
        json_array_append_new(names, json_string(file->path));
        json_array_append_new(views, json_pack("{s:I, s:{s:s, s:I}}", "disp", (json_int_t)file->at,
                                               "filetype", "type", "contiguous", "count",
                                               (json_int_t)file->size));
    }
    members =
        json_pack("{s:o, s:{s:i, s:o}}", "files", names, "view", "tiles", 1, "per_rank", views);
    if (members && whole->fills)
        json_object_set(members, "fill", whole->fills);
    return members;
}

void from_whole_clear(struct from_whole *whole)
{
    for (size_t i = 0; i < whole->count; i++)
        free(whole->files[i].path);
    free(whole->files);
    json_decref(whole->fills);
}
