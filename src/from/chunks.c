/* SPDX-License-Identifier: MIT */
#include "chunks.h"

#include <inttypes.h>

#include "viewspec/base/integer.h"

/* Returns the length of box number i in dimension d. */
static int64_t length_of(const struct from_variable *variable, size_t i, int d)
{
    const struct from_chunks *chunks = &variable->chunks;

    return chunks->lengths ? chunks->lengths[i * (size_t)variable->dimensions + (size_t)d]
                           : chunks->sizes[d];
}

/* Returns the length in dimension d of the array in the file that box number i is a part of. */
static int64_t size_in_file(const struct from_variable *variable, size_t i, int d)
{
    const struct from_chunks *chunks = &variable->chunks;

    return chunks->shapes ? chunks->shapes[i * (size_t)variable->dimensions + (size_t)d]
                          : chunks->sizes[d];
}

/* Returns true if the elements of a box are consecutive in the variable's array. */
static bool is_range(const struct from_variable *variable, size_t i)
{
    int n = variable->dimensions, d = 0;

    while (d < n && (length_of(variable, i, d) == 1 || variable->shape[d] == 1))
        d++;
    for (d++; d < n; d++)
        if (length_of(variable, i, d) < variable->shape[d])
            return false;
    return true;
}

/* Whether chunk a begins before chunk b in the array. */
static bool before(const int64_t *a, const int64_t *b, int dimensions)
{
    for (int d = 0; d < dimensions; d++)
        if (a[d] != b[d])
            return a[d] < b[d];
    return false;
}

bool from_chunks_in_order(const struct from_variable *variable)
{
    const struct from_chunks *chunks = &variable->chunks;
    int n = variable->dimensions;

    for (size_t i = 0; i < (chunks->lengths ? chunks->count : 1); i++)
        if (!is_range(variable, i))
            return false;
    for (size_t i = 1; i < chunks->count; i++)
        if (!before(chunks->starts + (i - 1) * (size_t)n, chunks->starts + i * (size_t)n, n))
            return false;
    return true;
}

/* Where an index of the array is in a chunk's part of it, which begins at start: 0 .. length. */
static struct from_term clamped(const struct from_term *index, int64_t start, int64_t length)
{
    if (index->constant)
        return from_constant(vs_max(0, vs_min(index->value - start, length)));
    return from_expression("max(0, min(%s - %" PRId64 ", %" PRId64 "))", index->text, start,
                           length);
}

static struct from_term difference(const struct from_term *a, const struct from_term *b)
{
    if (a->constant && b->constant)
        return from_constant(a->value - b->value);
    return from_expression("%s - %s", a->text, b->text);
}

/* What a rank has of one dimension of a chunk: from its first index on, which counts in the chunk.
 */
struct part {
    struct from_term first, count;
};

static struct part part_of(const struct from_axis *axis, int64_t start, int64_t size)
{
    struct part part = {axis->start, axis->count};
    int64_t length = vs_min(size, axis->length - start);

    if (length == axis->length)
        return part;
    struct from_term end = axis->ranks == 1
                               ? axis->count
                               : from_expression("%s + %s", axis->start.text, axis->count.text);
    struct from_term last = clamped(&end, start, length);
    part.first = clamped(&axis->start, start, length);
    part.count = difference(&last, &part.first);
    return part;
}

/* Where the part begins in the rank's array: none of it may begin anywhere inside. */
static struct from_term place_of(const struct part *part, const struct from_axis *axis,
                                 int64_t start)
{
    if (axis->ranks == 1)
        return from_constant(start + part->first.value);
    return from_expression("max(0, min(%s + %" PRId64 " - %s, %s - %s))", part->first.text, start,
                           axis->start.text, axis->count.text, part->count.text);
}

/* An array has one index at least. */
static json_t *size_of(const struct from_axis *axis)
{
    if (axis->count.constant)
        return from_term_json(&axis->count);
    struct from_term size = from_expression("max(1, %s)", axis->count.text);
    return from_term_json(&size);
}

/* Returns the datatype of a rank's part of box number i, in the file or in the rank's array. */
static json_t *box(const struct from_variable *variable, const struct from_axis *axes, size_t i,
                   bool in_memory, json_t *leaf)
{
    const int64_t *start = variable->chunks.starts + i * (size_t)variable->dimensions;
    json_t *sizes = json_array(), *subsizes = json_array(), *starts = json_array();

    for (int d = 0; d < variable->dimensions; d++) {
        const struct from_axis *axis = &axes[d];
        struct part part = part_of(axis, start[d], length_of(variable, i, d));
        struct from_term place = in_memory ? place_of(&part, axis, start[d]) : part.first;

        json_array_append_new(sizes, in_memory ? size_of(axis)
                                               : json_integer(size_in_file(variable, i, d)));
        json_array_append_new(subsizes, from_term_json(&part.count));
        json_array_append_new(starts, from_term_json(&place));
    }
    return json_pack("{s:s, s:o, s:o, s:o, s:s, s:O}", "type", "subarray", "sizes", sizes,
                     "subsizes", subsizes, "starts", starts, "order", "C", "oldtype", leaf);
}

static json_t *boxes(const struct from_variable *variable, const struct from_axis *axes,
                     bool in_memory, json_t *leaf)
{
    const struct from_chunks *chunks = &variable->chunks;
    json_t *lengths = json_array(), *displacements = json_array(), *types = json_array();

    for (size_t i = 0; i < chunks->count; i++) {
        int64_t displacement = in_memory ? 0 : chunks->at[i] - chunks->at[0];
        json_array_append_new(lengths, json_integer(1));
        json_array_append_new(displacements, json_integer(displacement));
        json_array_append_new(types, box(variable, axes, i, in_memory, leaf));
    }
    return json_pack("{s:s, s:o, s:o, s:o}", "type", "struct", "blocklengths", lengths,
                     "displacements", displacements, "types", types);
}

json_t *from_chunks(const struct from_variable *variable, const struct from_axis *axes,
                    json_t *leaf)
{
    return boxes(variable, axes, false, leaf);
}

json_t *from_chunks_memory(const struct from_variable *variable, const struct from_axis *axes,
                           json_t *leaf)
{
    return boxes(variable, axes, true, leaf);
}
