/* SPDX-License-Identifier: MIT */
#include "netcdf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "viewspec/base/integer.h"
#include "viewspec/base/list.h"

/*
 * The header of netCDF's classic formats, by their grammar:
 *
 *     header    "CDF" version numrecs dimensions attributes variables
 *     list      tag count item...       (both 0 if there are none)
 *     dimension name length             (0: the record dimension)
 *     attribute name type count value...
 *     variable  name count dimension-number... attributes type vsize begin
 *     name      count character...      (as values, padded to 4 bytes)
 *
 * All numbers are big-endian. Counts have 4 bytes, or 8 in CDF-5. Displacements have 8 bytes, or 4
 * in CDF-1. Counts are not trusted: memory grows only with the items that the header really has.
 */

enum { TAG_DIMENSION = 10, TAG_VARIABLE = 11, TAG_ATTRIBUTE = 12 };
enum { BYTE = 1, CHAR, SHORT, INT, FLOAT, DOUBLE, UBYTE, USHORT, UINT, INT64, UINT64, TYPES };

/* The kinds of numbers as for from_number; S: a character. */
static const struct {
    char kind;
    int size;
} types[TYPES] = {[BYTE] = {'i', 1},  [CHAR] = {'S', 1},   [SHORT] = {'i', 2}, [INT] = {'i', 4},
                  [FLOAT] = {'f', 4}, [DOUBLE] = {'f', 8}, [UBYTE] = {'u', 1}, [USHORT] = {'u', 2},
                  [UINT] = {'u', 4},  [INT64] = {'i', 8},  [UINT64] = {'u', 8}};

struct reader {
    const struct from_bytes *head;
    struct from_file *file;
    size_t at;
    int version;     /* 1, 2 or 5 */
    bool ended;      /* more of the file is needed */
    int64_t records; /* -1: as many as the file holds */
    struct from_nc_header *header;
};

static int fail_damaged(struct reader *r, const char *what)
{
    return from_wrong(r->file, "damaged netCDF header at byte %zu: %s", r->at, what);
}

static bool has_stopped(const struct reader *r)
{
    return r->ended || r->file->error->code;
}

/* Takes the next length bytes. Returns NULL if there are fewer. */
static const unsigned char *take_bytes(struct reader *r, int64_t length)
{
    const unsigned char *bytes = r->head->bytes + r->at;

    if (has_stopped(r))
        return NULL;
    if (length > (int64_t)(r->head->length - r->at)) {
        if (length > r->head->size - (int64_t)r->at)
            fail_damaged(r, "the file ends in the header");
        r->ended = true;
        return NULL;
    }
    r->at += (size_t)length;
    return bytes;
}

/* Reads an unsigned big-endian number of 4 or 8 bytes. Returns 0 if there is none. */
static int64_t read_number(struct reader *r, int bytes)
{
    const unsigned char *from = take_bytes(r, bytes);
    uint64_t value = from ? from_load(from, bytes, true) : 0;

    if (value > INT64_MAX) {
        fail_damaged(r, "a number is larger than 2^63-1");
        return 0;
    }
    return (int64_t)value;
}

static int64_t read_count(struct reader *r)
{
    return read_number(r, r->version == 5 ? 8 : 4);
}

static int64_t padded_size(int64_t bytes)
{
    return bytes + (4 - bytes % 4) % 4;
}

/* Takes length values of size bytes, padded to a multiple of 4 bytes. Returns NULL if they are not
   there. */
static const unsigned char *read_values(struct reader *r, int64_t length, int size)
{
    int64_t bytes;

    if (__builtin_mul_overflow(length, size, &bytes) || bytes > INT64_MAX - 4) {
        fail_damaged(r, "a count is too large");
        return NULL;
    }
    return take_bytes(r, padded_size(bytes));
}

/* Returns a new string, or NULL. */
static char *read_name(struct reader *r)
{
    int64_t length = read_count(r);
    const unsigned char *bytes = read_values(r, length, 1);
    char *name = bytes ? strndup((const char *)bytes, (size_t)length) : NULL;

    if (bytes && name == NULL)
        from_no_memory(r->file);
    return name;
}

/* Reads the tag and the count of a list. Returns the count. */
static int64_t read_list(struct reader *r, int64_t wanted)
{
    int64_t tag = read_number(r, 4), items = read_count(r);

    if (!has_stopped(r) && tag != wanted && (tag || items))
        fail_damaged(r, "unexpected list");
    return has_stopped(r) ? 0 : items;
}

static int read_type(struct reader *r)
{
    int64_t type = read_number(r, 4);

    if (!has_stopped(r) && (type < BYTE || type >= TYPES || (type > DOUBLE && r->version != 5)))
        fail_damaged(r, "unknown type");
    return has_stopped(r) ? BYTE : (int)type;
}

/* Reads the attributes of a variable, or of the file (-1). */
static void read_attributes(struct reader *r, long variable)
{
    struct from_nc_header *header = r->header;
    int64_t items = read_list(r, TAG_ATTRIBUTE);

    for (int64_t i = 0; i < items && !has_stopped(r); i++) {
        if (!VS_LIST_ROOM(header->attributes, header->attribute_count, header->attribute_room)) {
            from_no_memory(r->file);
            return;
        }
        char *name = read_name(r);
        if (name == NULL)
            return;
        struct from_nc_attribute *attribute = &header->attributes[header->attribute_count++];
        int kind = read_type(r);
        *attribute = (struct from_nc_attribute){.name = name,
                                                .variable = variable,
                                                .size = types[kind].size,
                                                .kind = types[kind].kind,
                                                .count = read_count(r)};
        const unsigned char *bytes = read_values(r, attribute->count, attribute->size);
        if (bytes)
            memcpy(attribute->values, bytes,
                   (size_t)vs_min(attribute->count * attribute->size, FROM_NC_VALUES));
    }
}

static void read_dimensions(struct reader *r)
{
    struct from_nc_header *header = r->header;
    int64_t items = read_list(r, TAG_DIMENSION);

    for (int64_t i = 0; i < items && !has_stopped(r); i++) {
        if (!VS_LIST_ROOM(header->dimensions, header->dimension_count, header->dimension_room)) {
            from_no_memory(r->file);
            return;
        }
        char *name = read_name(r);
        if (name == NULL)
            return;
        header->dimensions[header->dimension_count++] =
            (struct from_nc_dimension){.name = name, .length = read_count(r)};
    }
}

/* Returns room for the numbers of the next variable's dimensions, or NULL. */
static int64_t *add_shape(struct reader *r)
{
    struct from_nc_header *header = r->header;
    if (!VS_LIST_ROOM(header->shapes, r->file->count - 1, header->shape_room)) {
        from_no_memory(r->file);
        return NULL;
    }
    return header->shapes[r->file->count - 1];
}

/* Reads a variable's dimensions. Until place_records, a nonzero stride marks a record variable. */
static void read_shape(struct reader *r, struct from_variable *variable)
{
    const struct from_nc_header *header = r->header;
    int64_t items = read_count(r), *numbers = add_shape(r);

    if (items > FROM_DIMENSIONS_MAX)
        from_refuse(variable, "more than %d dimensions", FROM_DIMENSIONS_MAX);
    for (int64_t i = 0; i < items && !has_stopped(r); i++) {
        int64_t dimension = read_count(r);
        if (has_stopped(r))
            return;
        if (dimension >= (int64_t)header->dimension_count) {
            fail_damaged(r, "unknown dimension");
            return;
        }
        int64_t length = header->dimensions[dimension].length;
        if (i < FROM_DIMENSIONS_MAX) {
            numbers[variable->dimensions] = dimension;
            variable->shape[variable->dimensions++] = length;
        }
        if (length == 0 && i > 0)
            fail_damaged(r, "the record dimension is not the first one");
        else if (length == 0)
            variable->stride = -1;
    }
}

static void read_variable(struct reader *r)
{
    char *name = read_name(r);
    struct from_variable *variable = name ? from_add(r->file, name, strlen(name)) : NULL;

    free(name);
    if (variable == NULL)
        return;
    read_shape(r, variable);
    read_attributes(r, (long)r->file->count - 1);
    int kind = read_type(r);
    take_bytes(r,
               r->version == 5 ? 8 : 4); /* vsize is redundant, and too small for large variables */
    variable->at = read_number(r, r->version == 1 ? 4 : 8);
    from_set_number(variable, types[kind].kind, types[kind].size, '>');
    if (kind == CHAR)
        variable->etype = json_string("char");
}

/* Returns the bytes of one record of a variable, or of a variable without records; -1: too many. */
static int64_t bytes_of(const struct from_variable *variable)
{
    struct from_variable one = *variable;

    if (one.stride)
        one.shape[0] = 1;
    int64_t elements = from_elements(&one);
    return elements < 0 || elements * one.size > INT64_MAX - 4 ? -1 : elements * one.size;
}

/*
 * Returns the distance from one record to the next. A record has the values of all record
 * variables, each padded to 4 bytes; a single record variable is not padded. Sets *first to the
 * beginning of the first record.
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
        if (single < 0 || __builtin_add_overflow(sum, padded_size(single), &sum)) {
            fail_damaged(r, "records are larger than 2^63-1 bytes");
            return 0;
        }
    }
    return variables == 1 ? single : sum;
}

/* Sets the number of records and the stride of record variables. */
static void place_records(struct reader *r)
{
    int64_t first, size = record_size(r, &first), records = r->records;

    if (records < 0)
        records = size > 0 && r->head->size > first ? (r->head->size - first) / size : 0;
    for (size_t i = 0; i < r->file->count && !has_stopped(r); i++) {
        struct from_variable *variable = &r->file->variables[i];
        if (!variable->stride)
            continue;
        variable->shape[0] = records;
        variable->stride = bytes_of(variable) == size ? 0 : size;
    }
    r->header->records = records;
}

/* Checks that variables begin after the header and end before byte 2^63. */
static void check_places(struct reader *r)
{
    for (size_t i = 0; i < r->file->count && !has_stopped(r); i++) {
        const struct from_variable *variable = &r->file->variables[i];
        int64_t end = from_end(variable);

        if (end < 0)
            fail_damaged(r, "a variable ends behind byte 2^63-1");
        else if (end > 0 && variable->at < (int64_t)r->at)
            fail_damaged(r, "a variable begins inside the header");
    }
}

static void read_header(struct reader *r)
{
    const unsigned char *magic = take_bytes(r, 4);

    if (magic == NULL)
        return;
    r->version = magic[3];
    const unsigned char *records = r->head->bytes + r->at;
    int wide = r->version == 5 ? 8 : 4;
    /* All bits are set (STREAMING) if the writer could not seek back to store the number. */
    if (r->head->length - r->at >= (size_t)wide &&
        !memcmp(records, "\xff\xff\xff\xff\xff\xff\xff\xff", (size_t)wide)) {
        r->records = -1;
        r->at += (size_t)wide;
    } else {
        r->records = read_number(r, wide);
    }
    read_dimensions(r);
    read_attributes(r, -1);
    int64_t items = read_list(r, TAG_VARIABLE);
    for (int64_t i = 0; i < items && !has_stopped(r); i++)
        read_variable(r);
}

bool from_nc_is_it(const struct from_bytes *head)
{
    return head->length >= 4 && !memcmp(head->bytes, "CDF", 3) &&
           (head->bytes[3] == 1 || head->bytes[3] == 2 || head->bytes[3] == 5);
}

int from_nc_read(const struct from_bytes *head, struct from_file *file,
                 struct from_nc_header *header)
{
    struct reader r = {.head = head, .file = file, .header = header};

    *header = (struct from_nc_header){0};
    read_header(&r);
    if (!has_stopped(&r))
        place_records(&r);
    if (!has_stopped(&r))
        check_places(&r);
    header->bytes = (int64_t)r.at;
    return file->error->code ? file->error->code : r.ended ? -EAGAIN : 0;
}

void from_nc_free(struct from_nc_header *header)
{
    for (size_t i = 0; i < header->dimension_count; i++)
        free(header->dimensions[i].name);
    for (size_t i = 0; i < header->attribute_count; i++)
        free(header->attributes[i].name);
    free(header->dimensions);
    free(header->shapes);
    free(header->attributes);
}

const struct from_nc_attribute *from_nc_attribute(const struct from_nc_header *header,
                                                  long variable, const char *name)
{
    for (size_t i = 0; i < header->attribute_count; i++)
        if (header->attributes[i].variable == variable && !strcmp(header->attributes[i].name, name))
            return &header->attributes[i];
    return NULL;
}

bool from_nc_integers(const struct from_nc_header *header, long variable, const char *name,
                      size_t count, int64_t *values)
{
    const struct from_nc_attribute *found = from_nc_attribute(header, variable, name);

    if (found == NULL || (found->kind != 'i' && found->kind != 'u') ||
        found->count < (int64_t)count || count * (size_t)found->size > FROM_NC_VALUES)
        return false;
    for (size_t i = 0; i < count; i++) {
        const unsigned char *bytes = found->values + i * (size_t)found->size;
        int unused = found->kind == 'i' ? 64 - 8 * found->size : 0; /* bits before the sign */
        values[i] = (int64_t)(from_load(bytes, found->size, true) << unused) >> unused;
        if (values[i] < INT32_MIN || values[i] > INT32_MAX)
            return false;
    }
    return true;
}
