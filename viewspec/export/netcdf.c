/* SPDX-License-Identifier: MIT */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export_private.h"

/*
 * Files in netCDF's classic format with 64-bit sizes, CDF-5: a header, then the variables one after
 * the other, big-endian. The format is described in PnetCDF's documentation, "CDF-5 file format
 * specification".
 */

enum nc_type {
    NC_NONE,
    NC_BYTE,
    NC_CHAR,
    NC_SHORT,
    NC_INT,
    NC_FLOAT,
    NC_DOUBLE,
    NC_UBYTE,
    NC_USHORT,
    NC_UINT,
    NC_INT64,
    NC_UINT64
};
enum { TAG_DIMENSIONS = 10, TAG_VARIABLES = 11 };

/* The most dimensions of a file: those of the array, and one for the values of each field. */
#define DIMS_MAX 2048

struct variable {
    const char *name;
    enum nc_type type;
    int64_t field; /* or -1: the coordinates of a dimension of the array, from start on */
    int64_t dimension, start;
    int64_t length; /* bytes */
    int dimensions;
    int dims[VS_GLOBAL_DIMENSIONS + 1]; /* numbers of the dimensions, the slowest first */
};

struct netcdf {
    struct vs_shown shown;
    struct vs_error *error;
    int64_t bytes; /* of the fields' variables */
    int dim_count, variable_count;
    const char *dim_names[DIMS_MAX];
    int64_t dim_sizes[DIMS_MAX];
    struct variable *variables;
};

/* Returns the type of a field's numbers, or NC_NONE if the format has no such type. */
static enum nc_type type_of(const struct vs_basic *basic)
{
    static const enum nc_type integers[] = {
        [1] = NC_BYTE, [2] = NC_SHORT, [4] = NC_INT, [8] = NC_INT64};
    static const enum nc_type naturals[] = {
        [1] = NC_UBYTE, [2] = NC_USHORT, [4] = NC_UINT, [8] = NC_UINT64};
    int size = basic->size / basic->parts;

    if (basic->kind == VS_FLOAT)
        return size == 4 ? NC_FLOAT : size == 8 ? NC_DOUBLE : NC_NONE;
    if (basic->kind == VS_CHAR)
        return size == 1 ? NC_CHAR : NC_NONE;
    if (size > 8)
        return NC_NONE;
    return basic->kind == VS_INTEGER || basic->kind == VS_LOGICAL ? integers[size] : naturals[size];
}

/* Adds a dimension to a variable, and to the file if it is new. */
static int add_dimension(struct netcdf *netcdf, struct variable *variable, const char *name,
                         int64_t size)
{
    int number = 0;
    bool twice;

    while (number < netcdf->dim_count && strcmp(netcdf->dim_names[number], name) != 0)
        number++;
    twice = number < netcdf->dim_count && netcdf->dim_sizes[number] != size;
    for (int i = 0; i < variable->dimensions; i++)
        twice = twice || variable->dims[i] == number;
    if (twice)
        return vs_export_fail(netcdf->error, "two dimensions are called \"%s\"", name);
    if (number == DIMS_MAX)
        return vs_export_fail(netcdf->error, "the array has too many dimensions for netCDF");
    if (number == netcdf->dim_count) {
        netcdf->dim_names[number] = name;
        netcdf->dim_sizes[number] = size;
        netcdf->dim_count++;
    }
    variable->dims[variable->dimensions++] = number;
    return __builtin_mul_overflow(variable->length, size, &variable->length)
               ? vs_export_fail(netcdf->error, "the array is too large for netCDF")
               : 0;
}

static int set_dimensions(struct netcdf *netcdf, struct variable *variable)
{
    const struct vs_global_facts *facts = vs_global_facts(netcdf->shown.global);
    const struct vs_global_field *field = &facts->field[variable->field];
    bool first = facts->fortran ? field->values > 1 : facts->records;
    struct vs_global_shape shape;

    vs_global_shape(netcdf->shown.global, variable->field, netcdf->shown.records, &shape);
    for (int64_t d = 0; d < facts->dimensions; d++)
        shape.sizes[d + first] = netcdf->shown.local.count[d];
    for (int i = 0; i < shape.dimensions; i++) {
        int d = facts->fortran ? shape.dimensions - 1 - i : i;

        if (add_dimension(netcdf, variable, shape.dims[d], shape.sizes[d]))
            return netcdf->error->code;
    }
    return field->basic->parts == 2 ? add_dimension(netcdf, variable, "complex", 2) : 0;
}

/*
 * Adds the variable of a field. Nothing is added if the format lacks its type, or if it is empty: a
 * dimension of length 0 would be netCDF's unlimited one.
 */
static int add_field(struct netcdf *netcdf, int64_t number)
{
    const struct vs_basic *basic = vs_global_facts(netcdf->shown.global)->field[number].basic;
    struct variable *variable = &netcdf->variables[netcdf->variable_count];

    if (type_of(basic) == NC_NONE || netcdf->shown.cells == 0 || netcdf->shown.records == 0)
        return 0;
    *variable = (struct variable){.name = vs_export_name(netcdf->shown.global, number),
                                  .type = type_of(basic),
                                  .field = number,
                                  .length = basic->size / basic->parts};
    if (set_dimensions(netcdf, variable))
        return netcdf->error->code;
    /* Sums of the offsets in the header do not overflow. */
    if (variable->length > INT64_MAX / 2 - netcdf->bytes)
        return vs_export_fail(netcdf->error, "the array is too large for netCDF");
    netcdf->bytes += variable->length;
    netcdf->variable_count++;
    return 0;
}

static bool has_variable(const struct netcdf *netcdf, const char *name)
{
    for (int i = 0; i < netcdf->variable_count; i++)
        if (strcmp(netcdf->variables[i].name, name) == 0)
            return true;
    return false;
}

/*
 * Adds a variable of the coordinates of each dimension, with the dimension's name, unless a field
 * has that name.
 */
static int add_coordinates(struct netcdf *netcdf)
{
    const struct vs_global_facts *facts = vs_global_facts(netcdf->shown.global);
    const struct vs_local *local = &netcdf->shown.local;

    for (int64_t d = 0; d < facts->dimensions; d++) {
        struct variable *variable = &netcdf->variables[netcdf->variable_count];
        const char *name = facts->dims[d + (facts->records && !facts->fortran)];

        if (local->count[d] == 0 || local->count[d] > VS_COORDINATES_MAX ||
            has_variable(netcdf, name))
            continue;
        *variable = (struct variable){.name = name,
                                      .type = NC_DOUBLE,
                                      .field = -1,
                                      .dimension = d,
                                      .start = local->start[d],
                                      .length = sizeof(double)};
        if (add_dimension(netcdf, variable, name, local->count[d]))
            return netcdf->error->code;
        netcdf->variable_count++;
    }
    return 0;
}

/* Writes a big-endian number of at most 8 bytes. */
static void put(FILE *out, uint64_t value, int bytes)
{
    while (bytes-- > 0)
        fputc((int)(value >> 8 * bytes & 0xff), out);
}

/* Writes an empty list. */
static void put_nothing(FILE *out)
{
    put(out, 0, 4);
    put(out, 0, 8);
}

static void put_name(FILE *out, const char *name)
{
    size_t length = strlen(name);

    put(out, length, 8);
    fputs(name, out);
    put(out, 0, (int)((4 - length % 4) % 4));
}

static int64_t padded(int64_t length)
{
    return (length + 3) / 4 * 4;
}

/* Writes the header of a file whose data begin at byte `begin`. */
static void put_header(const struct netcdf *netcdf, int64_t begin, FILE *out)
{
    fputs("CDF\x05", out);
    put(out, 0, 8); /* records */
    put(out, netcdf->dim_count ? TAG_DIMENSIONS : 0, 4);
    put(out, (uint64_t)netcdf->dim_count, 8);
    for (int i = 0; i < netcdf->dim_count; i++) {
        put_name(out, netcdf->dim_names[i]);
        put(out, (uint64_t)netcdf->dim_sizes[i], 8);
    }
    put_nothing(out); /* no attributes */
    put(out, netcdf->variable_count ? TAG_VARIABLES : 0, 4);
    put(out, (uint64_t)netcdf->variable_count, 8);
    for (int i = 0; i < netcdf->variable_count; i++) {
        const struct variable *variable = &netcdf->variables[i];

        put_name(out, variable->name);
        put(out, (uint64_t)variable->dimensions, 8);
        for (int d = 0; d < variable->dimensions; d++)
            put(out, (uint64_t)variable->dims[d], 8);
        put_nothing(out); /* no attributes */
        put(out, variable->type, 4);
        put(out, (uint64_t)padded(variable->length), 8);
        put(out, (uint64_t)begin, 8);
        begin += padded(variable->length);
    }
}

/* Adds the header, whose length does not depend on the offsets in it. */
static int add_header(const struct netcdf *netcdf, struct vs_export *file)
{
    char *text = NULL;
    size_t length = 0;

    for (int pass = 0; pass < 2; pass++) {
        int64_t begin = padded((int64_t)length);
        FILE *out;

        free(text);
        text = NULL;
        out = open_memstream(&text, &length);
        if (out == NULL)
            return -ENOMEM;
        put_header(netcdf, begin, out);
        put(out, 0, pass ? (int)(begin - ftell(out)) : 0);
        if (fclose(out)) {
            free(text);
            return -ENOMEM;
        }
    }
    return vs_export_text(file, text, (int64_t)length);
}

static int add_coordinate_data(const struct netcdf *netcdf, const struct variable *variable,
                               struct vs_export *file)
{
    int64_t count = variable->length / (int64_t)sizeof(double);
    double *values =
        vs_export_coordinates(netcdf->shown.global, variable->dimension, variable->start, count);

    for (int64_t i = 0; values && i < count; i++) {
        uint64_t bits;

        memcpy(&bits, &values[i], sizeof(bits));
        bits = htobe64(bits);
        memcpy(&values[i], &bits, sizeof(bits));
    }
    return vs_export_text(file, (char *)values, variable->length);
}

static int add_data(const struct netcdf *netcdf, const struct variable *variable,
                    struct vs_export *file)
{
    const struct vs_global *global = netcdf->shown.global;
    const struct vs_global_field *field;
    bool big;
    int failure;

    if (variable->field < 0)
        return add_coordinate_data(netcdf, variable, file);
    field = &vs_global_facts(global)->field[variable->field];
    big = vs_export_big_endian(global, field);
    failure = vs_export_field(&netcdf->shown, variable->field,
                              big ? 1 : field->basic->size / field->basic->parts, variable->length,
                              file, netcdf->error);
    return failure ? failure : vs_export_zeros(file, padded(variable->length) - variable->length);
}

/* Makes the file of the ranks' parts in local. */
static int make(struct netcdf *netcdf, struct vs_export *file)
{
    const struct vs_global_facts *facts = vs_global_facts(netcdf->shown.global);
    int failure = 0;
    bool any = false;

    for (int64_t i = 0; i < facts->fields && !failure; i++) {
        any = any || type_of(facts->field[i].basic) != NC_NONE;
        failure = add_field(netcdf, i);
    }
    if (!failure && !any)
        failure = vs_export_fail(netcdf->error, "netCDF has no type for the values");
    if (!failure && facts->has_grid && netcdf->shown.local.box)
        failure = add_coordinates(netcdf);
    if (!failure)
        failure = add_header(netcdf, file);
    for (int i = 0; i < netcdf->variable_count && !failure; i++)
        failure = add_data(netcdf, &netcdf->variables[i], file);
    return failure;
}

static int make_file(const struct vs_global *global, int64_t rank, int64_t file_size,
                     struct vs_export *file, struct vs_error *error)
{
    const struct vs_global_facts *facts = vs_global_facts(global);
    struct netcdf *netcdf = calloc(1, sizeof(*netcdf));
    int result = -ENOMEM;

    if (netcdf == NULL)
        return -ENOMEM;
    netcdf->error = error;
    netcdf->variables =
        calloc((size_t)(facts->fields + facts->dimensions), sizeof(*netcdf->variables));
    if (netcdf->variables)
        result = vs_export_show(global, rank, file_size, &netcdf->shown, error);
    if (!result)
        result = make(netcdf, file);
    free(netcdf->variables);
    free(netcdf);
    return result;
}

static int make_all(const struct vs_global *global, int64_t file_size, int width,
                    struct vs_export *file, struct vs_error *error)
{
    (void)width;
    return make_file(global, -1, file_size, file, error);
}

const struct vs_format vs_netcdf = {
    .whole_suffix = ".nc",
    .whole = "whole",
    .rank = make_file,
    .all = make_all,
};
