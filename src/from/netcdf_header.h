/* SPDX-License-Identifier: MIT */
#ifndef FROM_NETCDF_HEADER_H
#define FROM_NETCDF_HEADER_H

/* What the header of a file in one of netCDF's classic formats says. */

#include "from.h"

struct from_nc_dimension {
    char *name;     /* owned */
    int64_t length; /* 0: the record dimension */
};

/* As many bytes of an attribute's values are kept. */
#define FROM_NC_VALUES 32

struct from_nc_attribute {
    const char *name; /* static */
    long variable;    /* its number in struct from_file; -1: an attribute of the file */
    int size;         /* bytes of a value */
    bool is_integer;
    int64_t count; /* of values; those behind FROM_NC_VALUES bytes are not kept */
    unsigned char values[FROM_NC_VALUES]; /* big-endian */
};

struct from_nc_header {
    struct from_nc_dimension *dimensions;
    size_t dimension_count, dimension_room;
    /* For each variable of struct from_file the numbers of its dimensions. */
    int64_t (*shapes)[FROM_DIMENSIONS_MAX];
    size_t shape_count, shape_room;
    /* Those attributes that this library has a use for (netcdf_header.c lists them). */
    struct from_nc_attribute *attributes;
    size_t attribute_count, attribute_room;
    int64_t records; /* as the header or the file's size says */
    int64_t bytes;   /* of the header */
};

/*
 * Reads the header of the file whose beginning head is: adds its variables to file, and fills
 * header, which the caller frees in any case. 0, -EAGAIN where more of the beginning is needed, or
 * a negative errno with error filled.
 */
int from_nc_read(const struct from_bytes *head, struct from_file *file,
                 struct from_nc_header *header, struct vs_error *error);

void from_nc_free(struct from_nc_header *header);

/* Whether the file is in one of netCDF's classic formats. */
bool from_nc_is_it(const struct from_bytes *head);

/* Returns the attribute of a variable, or of the file (-1), or NULL. */
const struct from_nc_attribute *from_nc_attribute(const struct from_nc_header *header,
                                                  long variable, const char *name);

/* Gets count integers of that attribute. False if there are fewer, or they are no integers of 32
   bits. */
bool from_nc_integers(const struct from_nc_header *header, long variable, const char *name,
                      size_t count, int64_t *values);

/* Whether the first dimension of that variable is the record dimension. */
bool from_nc_has_records(const struct from_nc_header *header, const struct from_file *file,
                         size_t variable);

#endif
