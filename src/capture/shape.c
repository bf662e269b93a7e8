/* SPDX-License-Identifier: MIT */
#include "views.h"

#include <stdlib.h>
#include <string.h>

#include "viewspec/basic.h"

/* Compact filetypes that select given bytes of a file. */

#define MAX_LEVELS 8
#define MAX_BLOCKS 100000    /* maximum length of a list of blocks */
#define MAX_NESTS  10000     /* maximum length of a list of vectors */
#define MAX_PIECES (1 << 20) /* maximum number of pieces that are searched for repetition */

/* A vector of vectors ... of blocks, the innermost level first. */
struct nest {
    int64_t start, length; /* of the first block */
    int levels;
    struct level {
        int64_t count, stride; /* bytes */
    } level[MAX_LEVELS];
};

static bool same_shape(const struct nest *a, const struct nest *b)
{
    return a->length == b->length && a->levels == b->levels &&
           memcmp(a->level, b->level, (size_t)a->levels * sizeof(*a->level)) == 0;
}

/* Returns how many nests from the first on have the same shape and one stride. */
static size_t alike_nests(const struct nest *nests, size_t count)
{
    size_t length = 1;

    while (length < count && same_shape(&nests[length], &nests[0]) &&
           nests[length].start - nests[length - 1].start == nests[1].start - nests[0].start)
        length++;
    return length;
}

/* Combines each run of alike nests into one with one more level, in place. Returns their new
   number. */
static size_t collapse_nests(struct nest *nests, size_t count)
{
    size_t used = 0;

    for (size_t i = 0, length; i < count; i += length) {
        struct nest nest = nests[i];
        length = nest.levels < MAX_LEVELS ? alike_nests(&nests[i], count - i) : 1;
        if (length > 1)
            nest.level[nest.levels++] =
                (struct level){(int64_t)length, nests[i + 1].start - nests[i].start};
        nests[used++] = nest;
    }
    return used;
}

static size_t make_nests(const struct capture_progression *list, size_t count, struct nest *nests)
{
    size_t before = count + 1;

    for (size_t i = 0; i < count; i++) {
        nests[i] = (struct nest){.start = list[i].start, .length = list[i].length};
        if (list[i].count > 1)
            nests[i].level[nests[i].levels++] = (struct level){list[i].count, list[i].stride};
    }
    while (count < before) {
        before = count;
        count = collapse_nests(nests, count);
    }
    return count;
}

/* From here on displacements and lengths are converted to etypes of size bytes. */

static json_t *block_type(int64_t length, int64_t size)
{
    return length == size ? json_string("etype")
                          : json_pack("{s:s, s:I}", "type", "contiguous", "count",
                                      (json_int_t)(length / size));
}

/* Takes ownership of oldtype. */
static json_t *hvector_type(const struct level *level, json_t *oldtype)
{
    return json_pack("{s:s, s:I, s:i, s:I, s:o}", "type", "hvector", "count",
                     (json_int_t)level->count, "blocklength", 1, "stride",
                     (json_int_t)level->stride, "oldtype", oldtype);
}

static json_t *nest_json(const struct nest *nest, int64_t size)
{
    json_t *json;

    if (!nest->levels)
        return block_type(nest->length, size);
    json = json_pack("{s:s, s:I, s:I, s:I}", "type", "vector", "count",
                     (json_int_t)nest->level[0].count, "blocklength",
                     (json_int_t)(nest->length / size), "stride",
                     (json_int_t)(nest->level[0].stride / size));
    for (int i = 1; i < nest->levels; i++)
        json = hvector_type(&nest->level[i], json);
    return json;
}

/* Makes a list of blocks; the first one begins at the origin. */
static json_t *blocks_json(const struct capture_progression *pieces, size_t count, int64_t size)
{
    json_t *lengths = json_array(), *places = json_array();
    bool one_length = true;

    for (size_t i = 0; i < count; i++) {
        json_array_append_new(lengths, json_integer(pieces[i].length / size));
        json_array_append_new(places, json_integer((pieces[i].start - pieces[0].start) / size));
        one_length = one_length && pieces[i].length == pieces[0].length;
    }
    if (!one_length)
        return json_pack("{s:s, s:o, s:o}", "type", "indexed", "blocklengths", lengths,
                         "displacements", places);
    json_decref(lengths);
    return json_pack("{s:s, s:I, s:o}", "type", "indexed_block", "blocklength",
                     (json_int_t)(pieces[0].length / size), "displacements", places);
}

/* Makes a struct of different nests; the first begins at the origin. */
static json_t *struct_json(const struct nest *nests, size_t count, int64_t size)
{
    json_t *lengths = json_array(), *places = json_array(), *types = json_array();

    for (size_t i = 0; i < count; i++) {
        json_array_append_new(lengths, json_integer(1));
        json_array_append_new(places, json_integer(nests[i].start - nests[0].start));
        json_array_append_new(types, nest_json(&nests[i], size));
    }
    return json_pack("{s:s, s:o, s:o, s:o}", "type", "struct", "blocklengths", lengths,
                     "displacements", places, "types", types);
}

/* Returns true if pieces a and b have the same length and distance to the next piece (b may be
   the last). */
static bool alike_pieces(const struct capture_progression *pieces, size_t count, size_t a, size_t b)
{
    return pieces[a].length == pieces[b].length &&
           (b + 1 == count ||
            pieces[a + 1].start - pieces[a].start == pieces[b + 1].start - pieces[b].start);
}

/*
 * Returns the number of pieces after which all of them repeat, at one distance, a whole number of
 * times; count if they do not. Uses the border array of Knuth, Morris and Pratt; border has room
 * for count numbers.
 */
static size_t find_period(const struct capture_progression *pieces, size_t count, uint32_t *border)
{
    size_t length = 0;

    border[0] = 0;
    for (size_t i = 1; i < count; i++) {
        while (length && !alike_pieces(pieces, count, length, i))
            length = border[length - 1];
        if (alike_pieces(pieces, count, length, i))
            length++;
        border[i] = (uint32_t)length;
    }
    return count % (count - length) ? count : count - length;
}

/* Makes a type of blocks that repeat, or of all blocks if there are not too many; else NULL. */
static json_t *repeated_type(const struct capture_progression *list, size_t count, int64_t size)
{
    size_t pieces = (size_t)capture_pieces(list, count), period = pieces;
    struct capture_progression *each = capture_expand(list, count);
    uint32_t *border = calloc(pieces, sizeof(*border));
    json_t *json = NULL;

    if (each && border)
        period = find_period(each, pieces, border);
    if (each && border && period <= MAX_BLOCKS)
        json = blocks_json(each, period, size);
    if (json && period < pieces)
        json = hvector_type(
            &(struct level){(int64_t)(pieces / period), each[period].start - each[0].start}, json);
    free(border);
    free(each);
    return json;
}

static json_t *filetype_of(const struct capture_progression *list, size_t count, int64_t size)
{
    struct nest *nests = calloc(count, sizeof(*nests));
    size_t nested = nests ? make_nests(list, count, nests) : 0;
    json_t *json = NULL;

    if (nested == 1)
        json = nest_json(nests, size);
    else if (nested && capture_pieces(list, count) <= MAX_PIECES)
        json = repeated_type(list, count, size);
    if (json == NULL && nested && nested <= MAX_NESTS)
        json = struct_json(nests, nested, size);
    free(nests);
    return json;
}

json_t *capture_shape(const struct capture_progression *list, size_t count, const char *etype,
                      int64_t size)
{
    json_t *type = count ? filetype_of(list, count, size)
                         : json_pack("{s:s, s:i}", "type", "contiguous", "count", 0);

    if (type == NULL)
        return NULL;
    return json_pack("{s:I, s:s, s:o, s:i}", "disp", (json_int_t)(count ? list[0].start : 0),
                     "etype", etype, "filetype", type, "tiles", 1);
}

bool capture_shape_fits(const struct capture_progression *list, size_t count, int64_t size)
{
    for (size_t i = 0; i < count; i++)
        if ((list[i].start - list[0].start) % size || list[i].length % size ||
            list[i].stride % size)
            return false;
    return true;
}

/* Finding parts of one array. */

#define MAX_DIMS 9

/* The array of all ranks, with dims dimensions. The stride of the last one is an element. */
struct array {
    int dims;
    int64_t disp;             /* displacement of its first element in the file */
    int64_t stride[MAX_DIMS]; /* bytes, descending */
    int64_t size[MAX_DIMS];   /* elements */
};

/* One rank's part of the array. */
struct part {
    int64_t start[MAX_DIMS], size[MAX_DIMS];
};

static int64_t integer_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static bool is_type(const json_t *type, const char *name)
{
    const char *own = json_string_value(json_object_get(type, "type"));

    return own && strcmp(own, name) == 0;
}

/* Returns the stride of an hvector's elements, or of a vector's blocks, in bytes; else 0. */
static int64_t stride_of(const json_t *type, int64_t element)
{
    if (is_type(type, "hvector"))
        return integer_of(type, "stride");
    return is_type(type, "vector") ? integer_of(type, "stride") * element : 0;
}

/* Inserts a stride into the array's list. Returns false if the strides do not divide each other. */
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

/* Inserts the strides of vectors of vectors of blocks. Returns false for other types, which are
   not part of an array. */
static bool add_strides(struct array *array, const json_t *type, int64_t element)
{
    int64_t stride;

    for (; (stride = stride_of(type, element)) > 0; type = json_object_get(type, "oldtype"))
        if (!add_stride(array, stride))
            return false;
    return type == NULL || json_is_string(type) ||
           (is_type(type, "contiguous") && integer_of(type, "count"));
}

/* Finds a rank's part of the array. Extends the outermost dimension to hold it. */
static bool find_part(struct array *array, const json_t *view, struct part *part)
{
    const json_t *type = json_object_get(view, "filetype");
    int64_t place = integer_of(view, "disp") - array->disp, stride;
    int last = array->dims - 1;

    for (int dim = 0; dim <= last; dim++) {
        part->start[dim] = place / array->stride[dim];
        part->size[dim] = 1;
        place %= array->stride[dim];
    }
    for (int dim = 0; (stride = stride_of(type, array->stride[last])) > 0;
         type = json_object_get(type, "oldtype")) {
        while (array->stride[dim] != stride)
            dim++;
        part->size[dim] = integer_of(type, "count");
        if (is_type(type, "vector"))
            part->size[last] = integer_of(type, "blocklength");
    }
    if (is_type(type, "contiguous"))
        part->size[last] = integer_of(type, "count");
    if (part->start[0] + part->size[0] > array->size[0])
        array->size[0] = part->start[0] + part->size[0];
    for (int dim = 0; dim <= last; dim++)
        if (part->start[dim] + part->size[dim] > array->size[dim])
            return false;
    return !place;
}

/* Finds an array with the strides of all views that begins at their lowest displacement. */
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
        if (integer_of(views[i], "disp") < array->disp)
            array->disp = integer_of(views[i], "disp");
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
