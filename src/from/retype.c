/* SPDX-License-Identifier: MIT */
#include "retype.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewspec/basic.h"

static const char source[] = "--type";

/* Reads a shape such as "4x*x3", with 0 for *. Returns the number of dimensions, or -1. */
static int read_shape(const char *text, int64_t *shape)
{
    int dimensions = 0;

    for (;; text++) {
        char *end = (char *)text + 1;
        if (dimensions == FROM_DIMENSIONS_MAX || (*text != '*' && !isdigit((unsigned char)*text)))
            return -1;
        errno = 0;
        shape[dimensions] = *text == '*' ? 0 : strtoll(text, &end, 10);
        if (errno || (*text != '*' && !shape[dimensions]))
            return -1;
        dimensions++;
        text = end;
        if (!*text)
            return dimensions;
        if (*text != 'x' && *text != ',')
            return -1;
    }
}

/* Replaces * by the size that fits. Returns false if the shape has another number of elements. */
static bool fit(int64_t *shape, int dimensions, int64_t elements)
{
    int64_t product = 1, *open = NULL;

    for (int d = 0; d < dimensions; d++) {
        if (!shape[d] && open)
            return false;
        if (!shape[d])
            open = &shape[d];
        else if (__builtin_mul_overflow(product, shape[d], &product))
            return false;
    }
    if (open && elements % product)
        return false;
    if (open)
        *open = elements / product;
    return open || product == elements;
}

/* Reads TYPE, and sets *behind to the text after it. Returns NULL if there is no such type. */
static const struct vs_basic *read_type(const char *text, const char **behind)
{
    size_t length = strcspn(text, " \t");
    char name[64];

    snprintf(name, sizeof(name), "%.*s", length < sizeof(name) ? (int)length : 0, text);
    *behind = text + length + strspn(text + length, " \t");
    return vs_basic_find(name);
}

int from_retype(const struct from_file *file, struct from_variable *variable, const char *text,
                struct vs_error *error)
{
    const char *type = json_string_value(variable->etype), *behind;
    const struct vs_basic *basic = read_type(text, &behind);
    int64_t shape[FROM_DIMENSIONS_MAX], bytes = from_elements(variable), row = 0;
    int dimensions = variable->dimensions;

    if (basic == NULL)
        return from_fail(error, -EINVAL, source,
                         "\"%s\": expected a basic type, such as double, and a "
                         "shape, such as 100x3 or *x3",
                         text);
    if (type == NULL || strcmp(type, "byte") != 0 || !dimensions || variable->chunks.count)
        return from_fail(error, -EINVAL, source,
                         "%s already has a type (only variables of bytes can be given one)",
                         variable->name);
    row = variable->shape[dimensions - 1];
    if (row % basic->size)
        return from_fail(error, -EINVAL, source,
                         "%s: %" PRId64 " bytes are not a multiple of the size of %s",
                         variable->name, row, basic->name);
    memcpy(shape, variable->shape, sizeof(shape));
    shape[dimensions - 1] = row / basic->size;
    if (*behind && (dimensions = read_shape(behind, shape)) < 0)
        return from_fail(error, -EINVAL, source, "\"%s\": expected a shape, such as 100x3 or *x3",
                         behind);
    if (*behind && (!fit(shape, dimensions, bytes / basic->size) ||
                    (variable->stride && shape[0] != variable->shape[0])))
        return from_fail(error, -EINVAL, source, "%s: %s is not the shape of %" PRId64 "%s%s",
                         variable->name, behind, bytes / basic->size,
                         variable->stride ? " values in rows of a record each, of " : " of ",
                         basic->name);
    json_decref(variable->etype);
    variable->etype = json_string(basic->name);
    variable->datarep = file->datarep;
    variable->size = basic->size;
    variable->dimensions = dimensions;
    memcpy(variable->shape, shape, sizeof(shape));
    return variable->etype ? 0 : from_fail(error, -ENOMEM, source, "%s", strerror(ENOMEM));
}
