/* SPDX-License-Identifier: MIT */
#include "netcdf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "element.h"

/*
 * The header of netCDF's classic formats, by their grammar:
 *
 *     header    "CDF" version numrecs dimensions attributes variables
 *     list      tag count item...       (both 0 where there are none)
 *     dimension name length             (0: the record dimension)
 *     attribute name type count value...
 *     variable  name count dimension-number... attributes type vsize begin
 *     name      count character...      (as values, padded to 4 bytes)
 *
 * All numbers are big-endian; counts have 4 bytes, or 8 in CDF-5, and displacements 4 in CDF-1
 * alone. Nothing is reserved by what a count says: each item takes bytes of the header.
 */

enum { TAG_DIMENSION = 10, TAG_VARIABLE = 11, TAG_ATTRIBUTE = 12 };
enum { BYTE = 1, CHAR, SHORT, INT, FLOAT, DOUBLE, UBYTE, USHORT, UINT, INT64, UINT64, TYPES };

static const int type_sizes[TYPES] = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8};

struct reader {
    const struct from_bytes *head;
    struct from_file *file;
    struct vs_error *error;
    size_t at;
    int version;      /* 1, 2 or 5 */
    bool ended;       /* more of the file is needed */
    int64_t records;  /* -1: as many as the file holds */
    int64_t *lengths; /* of dimensions */
    int64_t dimensions;
};

static int damaged(struct reader *r, const char *what)
{
    return from_fail(r->error, -EINVAL, r->head->path, "damaged netCDF header at byte %zu: %s",
                     r->at, what);
}

static bool stopped(const struct reader *r)
{
    return r->ended || r->error->code;
}

/* The next length bytes, or NULL. */
static const unsigned char *take(struct reader *r, int64_t length)
{
    const unsigned char *bytes = r->head->bytes + r->at;

    if (stopped(r))
        return NULL;
    if (length > (int64_t)(r->head->length - r->at)) {
        if (length > r->head->size - (int64_t)r->at)
            damaged(r, "the file ends in it");
        r->ended = true;
        return NULL;
    }
    r->at += (size_t)length;
    return bytes;
}

/* A big-endian number of 4 or 8 bytes, without a sign; 0 where there is none. */
static int64_t number(struct reader *r, int bytes)
{
    const unsigned char *from = take(r, bytes);
    uint64_t value = 0;

    for (int i = 0; from && i < bytes; i++)
        value = value << 8 | from[i];
    if (value > INT64_MAX) {
        damaged(r, "a number is larger than 2^63-1");
        return 0;
    }
    return (int64_t)value;
}

static int64_t count(struct reader *r)
{
    return number(r, r->version == 5 ? 8 : 4);
}

static int64_t padded(int64_t bytes)
{
    return bytes + (4 - bytes % 4) % 4;
}

/* Skips count values of size bytes, and what pads them to 4. */
static const unsigned char *values(struct reader *r, int64_t length, int size)
{
    int64_t bytes;

    if (__builtin_mul_overflow(length, size, &bytes) || bytes > INT64_MAX - 4) {
        damaged(r, "a count is too large");
        return NULL;
    }
    return take(r, padded(bytes));
}

static const unsigned char *name(struct reader *r, int64_t *length)
{
    *length = count(r);
    return values(r, *length, 1);
}

/* The tag and the count of a list: the count. */
static int64_t list(struct reader *r, int64_t wanted)
{
    int64_t tag = number(r, 4), items = count(r);

    if (!stopped(r) && tag != wanted && (tag || items))
        damaged(r, "no such list");
    return stopped(r) ? 0 : items;
}

static int type(struct reader *r)
{
    int64_t type = number(r, 4);

    if (!stopped(r) && (type < BYTE || type >= TYPES || (type > DOUBLE && r->version != 5)))
        damaged(r, "no such type");
    return stopped(r) ? BYTE : (int)type;
}

static void read_attributes(struct reader *r)
{
    int64_t items = list(r, TAG_ATTRIBUTE), length;

    for (int64_t i = 0; i < items && !stopped(r); i++) {
        name(r, &length);
        int size = type_sizes[type(r)];
        values(r, count(r), size);
    }
}

static void read_dimensions(struct reader *r)
{
    int64_t items = list(r, TAG_DIMENSION), length, room = 0;

    for (int64_t i = 0; i < items && !stopped(r); i++) {
        name(r, &length);
        length = count(r);
        if (r->dimensions == room) {
            room = room ? 2 * room : 16;
            int64_t *more = reallocarray(r->lengths, (size_t)room, sizeof(*more));
            if (more == NULL) {
                from_fail(r->error, -ENOMEM, r->head->path, "%s", strerror(ENOMEM));
                return;
            }
            r->lengths = more;
        }
        r->lengths[r->dimensions++] = length;
    }
}

/* A variable's dimensions. Its stride says that it has records, until place_records. */
static void read_shape(struct reader *r, struct from_variable *variable)
{
    int64_t items = count(r);

    if (items > FROM_DIMENSIONS_MAX)
        from_refuse(variable, "more than %d dimensions", FROM_DIMENSIONS_MAX);
    for (int64_t i = 0; i < items && !stopped(r); i++) {
        int64_t dimension = count(r);
        if (stopped(r))
            return;
        if (dimension >= r->dimensions) {
            damaged(r, "no such dimension");
            return;
        }
        if (i < FROM_DIMENSIONS_MAX)
            variable->shape[variable->dimensions++] = r->lengths[dimension];
        if (r->lengths[dimension] == 0 && i > 0)
            damaged(r, "the record dimension is not the first one");
        else if (r->lengths[dimension] == 0)
            variable->stride = -1;
    }
}

static json_t *element(int type)
{
    if (type == CHAR)
        return json_string("char");
    if (type == FLOAT || type == DOUBLE)
        return from_float(type_sizes[type]);
    return from_integer(type_sizes[type], type < UBYTE || type == INT64);
}

static void read_variable(struct reader *r)
{
    int64_t length;
    const unsigned char *bytes = name(r, &length);

    if (bytes == NULL)
        return;
    struct from_variable *variable = from_add(r->file, (const char *)bytes, (size_t)length);
    if (variable == NULL) {
        from_fail(r->error, -ENOMEM, r->head->path, "%s", strerror(ENOMEM));
        return;
    }
    read_shape(r, variable);
    read_attributes(r);
    int kind = type(r);
    take(r,
         r->version == 5 ? 8 : 4); /* vsize: follows from the shape; has no room for large ones */
    variable->at = number(r, r->version == 1 ? 4 : 8);
    variable->size = type_sizes[kind];
    variable->etype = element(kind);
    variable->datarep = variable->size > 1 ? "big-endian" : NULL;
    if (!variable->etype)
        from_fail(r->error, -ENOMEM, r->head->path, "%s", strerror(ENOMEM));
}

/* Bytes of one record of a variable, or of all of it where it has none; -1: too many. */
static int64_t bytes_of(const struct from_variable *variable)
{
    struct from_variable one = *variable;

    if (one.stride)
        one.shape[0] = 1;
    int64_t elements = from_elements(&one);
    return elements < 0 || elements * one.size > INT64_MAX - 4 ? -1 : elements * one.size;
}

/*
 * The distance from one record to the next: the records of all variables stand side by side, each
 * padded to 4 bytes, but not where there is a single one. *first is where the first begins.
 */
static int64_t record_size(struct reader *r, int64_t *first)
{
    int64_t sum = 0, single = 0, variables = 0;

    *first = INT64_MAX;
    for (size_t i = 0; i < r->file->count; i++) {
        const struct from_variable *variable = &r->file->variables[i];
        if (!variable->stride)
            continue;
        variables++;
        single = bytes_of(variable);
        *first = variable->at < *first ? variable->at : *first;
        if (single < 0 || __builtin_add_overflow(sum, padded(single), &sum)) {
            damaged(r, "records are larger than 2^63-1 bytes");
            return 0;
        }
    }
    return variables == 1 ? single : sum;
}

/* Gives record variables their number of records and their stride. */
static void place_records(struct reader *r)
{
    int64_t first, size = record_size(r, &first), records = r->records;

    if (records < 0)
        records = size > 0 && r->head->size > first ? (r->head->size - first) / size : 0;
    for (size_t i = 0; i < r->file->count && !stopped(r); i++) {
        struct from_variable *variable = &r->file->variables[i];
        if (!variable->stride)
            continue;
        variable->shape[0] = records;
        variable->stride = bytes_of(variable) == size ? 0 : size;
    }
}

/* Variables lie behind the header, and inside of what a file can have. */
static void check_places(struct reader *r)
{
    for (size_t i = 0; i < r->file->count && !stopped(r); i++) {
        const struct from_variable *variable = &r->file->variables[i];
        int64_t elements = from_elements(variable), end;
        bool over = elements < 0;

        if (elements > 0 && variable->stride)
            over = __builtin_mul_overflow(variable->shape[0], variable->stride, &end) ||
                   __builtin_add_overflow(end, variable->at, &end);
        else if (elements > 0)
            over = __builtin_add_overflow(elements * variable->size, variable->at, &end);
        if (over)
            damaged(r, "a variable ends behind byte 2^63-1");
        else if (elements > 0 && variable->at < (int64_t)r->at)
            damaged(r, "a variable begins inside the header");
    }
}

static void read_header(struct reader *r)
{
    const unsigned char *magic = take(r, 4);

    if (magic == NULL)
        return;
    r->version = magic[3];
    const unsigned char *records = r->head->bytes + r->at;
    int wide = r->version == 5 ? 8 : 4;
    /* All bits set: a program that could not go back has written the file. */
    if (r->head->length - r->at >= (size_t)wide &&
        !memcmp(records, "\xff\xff\xff\xff\xff\xff\xff\xff", (size_t)wide)) {
        r->records = -1;
        r->at += (size_t)wide;
    } else {
        r->records = number(r, wide);
    }
    read_dimensions(r);
    read_attributes(r);
    int64_t items = list(r, TAG_VARIABLE);
    for (int64_t i = 0; i < items && !stopped(r); i++)
        read_variable(r);
}

static bool is_it(const struct from_bytes *head)
{
    return head->length >= 4 && !memcmp(head->bytes, "CDF", 3) &&
           (head->bytes[3] == 1 || head->bytes[3] == 2 || head->bytes[3] == 5);
}

static int parse(const struct from_bytes *head, struct from_file *file, struct vs_error *error)
{
    struct reader r = {.head = head, .file = file, .error = error};

    read_header(&r);
    if (!stopped(&r))
        place_records(&r);
    if (!stopped(&r))
        check_places(&r);
    free(r.lengths);
    if (!stopped(&r) && from_add_part(file, 0, (int64_t)r.at))
        from_fail(error, -ENOMEM, head->path, "%s", strerror(ENOMEM));
    return error->code ? error->code : r.ended ? -EAGAIN : 0;
}

const struct from_format from_netcdf = {
    .name = "netCDF classic",
    .is_it = is_it,
    .parse = parse,
};
