/* SPDX-License-Identifier: MIT */
#include "subarrays.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "viewspec/basic.h"

#define MAX_DIMS 9

/* All ranks' array: dims dimensions, of which the last has the stride of an element. */
struct array {
    int dims;
    int64_t disp;             /* of its first element in the file */
    int64_t stride[MAX_DIMS]; /* bytes, falling */
    int64_t size[MAX_DIMS];   /* elements */
};

/* One rank's part of it. */
struct part {
    int64_t start[MAX_DIMS], size[MAX_DIMS];
};

static int64_t integer(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

/* The type that an hvector repeats. */
static const json_t *inner(const json_t *type)
{
    return json_object_get(type, "oldtype");
}

static bool is_type(const json_t *type, const char *name)
{
    const char *own = json_string_value(json_object_get(type, "type"));

    return own && strcmp(own, name) == 0;
}

/* How far the elements of an hvector, or the blocks of a vector, are apart, in bytes; else 0. */
static int64_t stride_of(const json_t *type, int64_t element)
{
    if (is_type(type, "hvector"))
        return integer(type, "stride");
    return is_type(type, "vector") ? integer(type, "stride") * element : 0;
}

/* Puts a stride among the array's, unless it is there. False where they do not divide each other.
 */
static bool add_stride(struct array *array, int64_t stride)
{
    int at = 0;

    while (at < array->dims && array->stride[at] > stride)
        at++;
    if (at < array->dims && array->stride[at] == stride)
        return true;
    if (array->dims == MAX_DIMS || (at && array->stride[at - 1] % stride) ||
        (at < array->dims && stride % array->stride[at]))
        return false;
    memmove(&array->stride[at + 1], &array->stride[at],
            (size_t)(array->dims - at) * sizeof(*array->stride));
    array->stride[at] = stride;
    array->dims++;
    return true;
}

/* Vectors of vectors of blocks have strides; something else is part of no array. */
static bool add_strides(struct array *array, const json_t *type, int64_t element)
{
    int64_t stride;

    for (; (stride = stride_of(type, element)) > 0; type = inner(type))
        if (!add_stride(array, stride))
            return false;
    return type == NULL || json_is_string(type) ||
           (is_type(type, "contiguous") && integer(type, "count"));
}

/* What of the array the rank has; the outermost dimension grows with it. */
static bool find_part(struct array *array, const json_t *view, struct part *part)
{
    const json_t *type = json_object_get(view, "filetype");
    int64_t place = integer(view, "disp") - array->disp, stride;
    int last = array->dims - 1;

    for (int dim = 0; dim <= last; dim++) {
        part->start[dim] = place / array->stride[dim];
        part->size[dim] = 1;
        place %= array->stride[dim];
    }
    for (int dim = 0; (stride = stride_of(type, array->stride[last])) > 0; type = inner(type)) {
        while (array->stride[dim] != stride)
            dim++;
        part->size[dim] = integer(type, "count");
        if (is_type(type, "vector"))
            part->size[last] = integer(type, "blocklength");
    }
    if (is_type(type, "contiguous"))
        part->size[last] = integer(type, "count");
    if (part->start[0] + part->size[0] > array->size[0])
        array->size[0] = part->start[0] + part->size[0];
    for (int dim = 0; dim <= last; dim++)
        if (part->start[dim] + part->size[dim] > array->size[dim])
            return false;
    return !place;
}

/* The array that has such strides, and begins where the first rank's part does. */
static bool find_array(json_t *const *views, size_t count, struct array *array)
{
    const char *etype = json_string_value(json_object_get(views[0], "etype"));
    const struct vs_basic *basic = etype ? vs_basic_find(etype) : NULL;

    *array = (struct array){.disp = INT64_MAX};
    if (basic == NULL || !add_stride(array, basic->size))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!add_strides(array, json_object_get(views[i], "filetype"), basic->size))
            return false;
        if (integer(views[i], "disp") < array->disp)
            array->disp = integer(views[i], "disp");
    }
    for (int dim = 1; dim < array->dims; dim++)
        array->size[dim] = array->stride[dim - 1] / array->stride[dim];
    return array->dims > 1;
}

static json_t *list_numbers(const int64_t *numbers, int count)
{
    json_t *json = json_array();

    for (int i = 0; i < count; i++)
        json_array_append_new(json, json_integer(numbers[i]));
    return json;
}

void capture_subarrays(json_t *const *views, size_t count)
{
    struct array array;
    struct part part;

    if (!json_object_get(views[0], "tiles") || !find_array(views, count, &array))
        return;
    for (size_t i = 0; i < count; i++)
        if (!find_part(&array, views[i], &part))
            return;
    for (size_t i = 0; i < count; i++) {
        find_part(&array, views[i], &part);
        json_object_set_new(views[i], "filetype",
                            json_pack("{s:s, s:o, s:o, s:o, s:s}", "type", "subarray", "sizes",
                                      list_numbers(array.size, array.dims), "subsizes",
                                      list_numbers(part.size, array.dims), "starts",
                                      list_numbers(part.start, array.dims), "order", "C"));
        json_object_set_new(views[i], "disp", json_integer(array.disp));
    }
}
