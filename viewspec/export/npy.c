/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <float.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export_private.h"
#include "viewspec/map/map_private.h"
#include "viewspec/npy.h"
#include "viewspec/types/byte_order.h"
#include "viewspec/types/view.h"

/*
 * The length above which a dtype becomes void. Nested types can be arbitrarily long when written
 * out.
 */
#define DESCR_MAX ((size_t)1 << 20)
/* NumPy 1's limit for dimensions. The bytes of an item are limited as well. */
#define DIMENSIONS_MAX 32
#define ITEM_MAX       INT32_MAX
/* The space that numpy.save reserves for the dimension that may grow, in digits. */
#define GROWING_DIGITS 21
#define ALIGNMENT      64

static const char magic[] = "\x93NUMPY";
#define MAGIC_LENGTH 6
static const char shape_key[] = "'shape': (";

struct vs_npy {
    struct vs_view *view; /* a reference */
    char *descr;          /* the dtype in Python's syntax */
    int64_t item;         /* bytes of an item */
    int64_t items;        /* items in an etype */
    size_t length;
};

struct shape {
    int dimensions;
    int64_t sizes[DIMENSIONS_MAX];
    bool fortran;
};

/* Text in a buffer of size bytes. If it does not fit, or size is 0, only its length is counted. */
struct text {
    char *bytes;
    size_t size, length;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *text, const char *format, ...)
{
    bool fits = text->length < text->size;
    va_list arguments;

    va_start(arguments, format);
    text->length += (size_t)vsnprintf(fits ? text->bytes + text->length : NULL,
                                      fits ? text->size - text->length : 0, format, arguments);
    va_end(arguments);
}

/* Returns true if a number of 16 bytes is C's long double, the only such type that NumPy has. */
static bool is_long_double(const struct vs_basic *basic)
{
    return LDBL_MANT_DIG == 64 ? basic->extended : LDBL_MANT_DIG == 113;
}

void vs_npy_type(const struct vs_basic *basic, bool big_endian, char *text)
{
    bool quad =
        basic->kind == VS_FLOAT && basic->size / basic->parts == 16 && !is_long_double(basic);
    bool half_complex = basic->kind == VS_FLOAT && basic->parts == 2 && basic->size == 4;
    char kind = 'V';

    if (basic->kind == VS_CHAR)
        kind = 'S';
    else if (basic->kind == VS_BYTES || (basic->kind == VS_UNSIGNED && basic->size <= 8))
        kind = 'u';
    else if (basic->kind == VS_LOGICAL)
        kind = basic->size == 1 ? 'b' : 'i';
    else if (basic->kind == VS_INTEGER && basic->size <= 8)
        kind = 'i';
    else if (basic->kind == VS_FLOAT && !quad && !half_complex)
        kind = basic->parts == 2 ? 'c' : 'f';
    snprintf(text, VS_NPY_TYPE, "%c%c%d",
             basic->size == 1 || kind == 'V' ? '|'
             : big_endian                    ? '>'
                                             : '<',
             kind, basic->size);
}

static void put_dtype(struct text *text, const struct vs_repeat *one)
{
    char type[VS_NPY_TYPE];

    if (one->basic) {
        vs_npy_type(one->basic, VS_NATIVE_ORDER == VS_BIG_ENDIAN, type);
        put(text, "'%s'", type);
        return;
    }
    /* Stop when the text no longer fits, because the rest may be arbitrarily long. */
    for (int64_t i = 0; i < one->record->count && text->length < text->size; i++) {
        const struct vs_repeat *part = &one->record->parts[i];
        put(text, "%s('f%lld', ", i ? ", " : "[", (long long)i);
        put_dtype(text, part);
        if (part->count > 1)
            put(text, ", (%lld,)", (long long)part->count);
        put(text, ")");
    }
    put(text, "]");
}

/* Returns true if the slice has gaps that are not multiples of the item. */
static bool is_uneven(const struct vs_npy *npy)
{
    return vs_view_gaps(npy->view) && !vs_view_facts(npy->view)->memory &&
           vs_view_map(npy->view)->order->grain % npy->item;
}

/* Sets descr, item and items. Returns 0 or -ENOMEM. */
static int find_dtype(struct vs_npy *npy)
{
    const struct vs_repeat *etype = &vs_view_etype(npy->view)->elements;
    struct text text = {.bytes = malloc(DESCR_MAX), .size = DESCR_MAX};

    if (!text.bytes)
        return -ENOMEM;
    npy->item = etype->native;
    npy->items = etype->count;
    put_dtype(&text, etype);
    if (npy->item > ITEM_MAX || is_uneven(npy)) {
        npy->item = 1;
        npy->items = etype->count * etype->native;
        text.length = 0;
        put(&text, "'|u1'");
    } else if (text.length >= text.size) {
        text.length = 0;
        put(&text, "'|V%lld'", (long long)npy->item);
    }
    npy->descr = realloc(text.bytes, text.length + 1);
    if (!npy->descr)
        free(text.bytes);
    return npy->descr ? 0 : -ENOMEM;
}

/* Returns true if two indices vary. Otherwise the order is irrelevant, and NumPy writes C. */
static bool order_matters(const struct shape *shape)
{
    int run = 0;

    for (int i = 0; i < shape->dimensions; i++) {
        if (!shape->sizes[i])
            return false;
        run += shape->sizes[i] > 1;
    }
    return run > 1;
}

/*
 * Computes the shape of the local array in `tiles` tiles. Returns false if it has too many
 * dimensions for NumPy.
 */
static bool local_shape(const struct vs_npy *npy, int64_t tiles, struct shape *shape)
{
    const struct vs_array *array = vs_view_facts(npy->view)->memory;
    int64_t slow = tiles, fast;

    if (array->dimensions > DIMENSIONS_MAX - 2 ||
        __builtin_mul_overflow(array->etypes, npy->items, &fast))
        return false;
    *shape = (struct shape){.fortran = array->fortran};
    if (array->fortran) {
        slow = fast;
        fast = tiles;
    }
    if (slow > 1)
        shape->sizes[shape->dimensions++] = slow;
    for (int64_t d = 0; d < array->dimensions; d++)
        shape->sizes[shape->dimensions++] = array->owned[d];
    if (fast > 1)
        shape->sizes[shape->dimensions++] = fast;
    shape->fortran = shape->fortran && order_matters(shape);
    return true;
}

static bool is_empty(const struct vs_array *array)
{
    for (int64_t d = 0; d < array->dimensions; d++)
        if (!array->owned[d])
            return true;
    return false;
}

/*
 * Returns the size of a tile that is a local array, in bytes. Returns -1 if it is no array or
 * exceeds the size of a slice, or if the view ends before the first tile.
 */
static int64_t tile_size(const struct vs_npy *npy)
{
    const struct vs_view_facts *facts = vs_view_facts(npy->view);
    int64_t etypes = vs_map_facts(vs_view_map(npy->view))->tile_size / facts->etype_file_size;
    int64_t size;

    if (!facts->memory || !facts->memory->etypes || (!etypes && !is_empty(facts->memory)) ||
        __builtin_mul_overflow(etypes, facts->etype_size, &size))
        return -1;
    return vs_view_end(npy->view, size);
}

static void shape_of(const struct vs_npy *npy, int64_t size, struct shape *shape)
{
    int64_t tile = tile_size(npy);
    bool whole = tile > 0 ? size > 0 && size % tile == 0 : tile == size;

    if (!whole || !local_shape(npy, tile > 0 ? size / tile : 1, shape))
        *shape = (struct shape){.dimensions = 1, .sizes = {size / npy->item}};
}

static void put_header(struct text *text, const struct vs_npy *npy, const struct shape *shape)
{
    put(text, "{'descr': %s, 'fortran_order': %s, %s", npy->descr,
        shape->fortran ? "True" : "False", shape_key);
    for (int i = 0; i < shape->dimensions; i++)
        put(text, "%s%lld", i ? ", " : "", (long long)shape->sizes[i]);
    put(text, "%s), }", shape->dimensions == 1 ? "," : "");
}

/* Returns the number of bytes before the text, in a header of that length. */
static size_t prefix(size_t length)
{
    return MAGIC_LENGTH + 2 + (length - MAGIC_LENGTH - 4 <= UINT16_MAX ? 2 : 4);
}

/*
 * Returns the length of a header with that shape: the length that numpy.save writes if saved, else
 * the minimum.
 */
static size_t header_length(const struct vs_npy *npy, const struct shape *shape, bool saved)
{
    struct text text = {0};
    size_t length;

    put_header(&text, npy, shape);
    if (saved && shape->dimensions) {
        int64_t growing = shape->sizes[shape->fortran ? shape->dimensions - 1 : 0];
        text.length += GROWING_DIGITS - (size_t)snprintf(NULL, 0, "%lld", (long long)growing);
    }
    length = text.length + 1; /* the end of the line */
    length += prefix(length + ALIGNMENT + MAGIC_LENGTH + 4);
    return (length + ALIGNMENT - !saved) / ALIGNMENT * ALIGNMENT;
}

/* Sets the length to numpy.save's for one tile, or more if the largest shapes need it. */
static void find_length(struct vs_npy *npy)
{
    struct shape most[2] = {{.dimensions = 1, .sizes = {INT64_MAX}}}, shape;
    int64_t tile = tile_size(npy);
    int count = 1;

    if (tile > 0 && local_shape(npy, INT64_MAX, &most[1]))
        count = 2;
    shape_of(npy, tile > 0 ? tile : 0, &shape);
    npy->length = header_length(npy, &shape, true);
    for (int i = 0; i < count; i++) {
        size_t least = header_length(npy, &most[i], false);
        if (least > npy->length)
            npy->length = least;
    }
}

int vs_npy_new(struct vs_view *view, struct vs_npy **result)
{
    struct vs_npy *npy = calloc(1, sizeof(*npy));

    if (npy == NULL)
        return -ENOMEM;
    npy->view = vs_view_ref(view);
    if (find_dtype(npy)) {
        vs_npy_free(npy);
        return -ENOMEM;
    }
    find_length(npy);
    *result = npy;
    return 0;
}

void vs_npy_free(struct vs_npy *npy)
{
    if (npy == NULL)
        return;
    vs_view_unref(npy->view);
    free(npy->descr);
    free(npy);
}

int64_t vs_npy_length(const struct vs_npy *npy)
{
    return (int64_t)npy->length;
}

void vs_npy_header(const struct vs_npy *npy, int64_t size, char *header)
{
    size_t start = prefix(npy->length), room = npy->length - start, counted = room;
    struct text text = {.bytes = header + start, .size = room};
    struct shape shape;

    memcpy(header, magic, MAGIC_LENGTH);
    header[MAGIC_LENGTH] = start == MAGIC_LENGTH + 4 ? 1 : 2;
    header[MAGIC_LENGTH + 1] = 0;
    for (size_t i = MAGIC_LENGTH + 2; i < start; i++, counted >>= 8)
        header[i] = (char)(counted & 0xff);
    shape_of(npy, size, &shape);
    put_header(&text, npy, &shape);
    memset(header + start + text.length, ' ', room - text.length - 1);
    header[npy->length - 1] = '\n';
}

/* Returns the product of the numbers in the text of a shape, or -1. Accepts numbers that are no
   shape as well. */
static int64_t product(const char *text)
{
    int64_t result = 1;

    while (*text != ')') {
        char *end;
        bool number = *text >= '0' && *text <= '9';

        if (!number || __builtin_mul_overflow(result, strtoll(text, &end, 10), &result))
            return -1;
        text = end + strspn(end, ", ");
    }
    return result;
}

int64_t vs_npy_size(const struct vs_npy *npy, const char *header)
{
    char *text = malloc(npy->length + 1), *shape;
    int64_t size;

    if (text == NULL)
        return -ENOMEM;
    memcpy(text, header, npy->length);
    text[npy->length] = '\0';
    shape = memmem(text, npy->length, shape_key, strlen(shape_key));
    size = shape ? product(shape + strlen(shape_key)) : -1;
    if (size < 0 || __builtin_mul_overflow(size, npy->item, &size)) {
        size = -EINVAL;
    } else {
        vs_npy_header(npy, size, text);
        if (memcmp(header, text, npy->length) != 0)
            size = -EINVAL;
    }
    free(text);
    return size;
}
