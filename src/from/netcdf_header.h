/* SPDX-License-Identifier: MIT */
#ifndef FROM_NETCDF_HEADER_H
#define FROM_NETCDF_HEADER_H

/* The header of a file in one of netCDF's classic formats. */

#include "from.h"

struct from_nc_dimension {
    char *name;     /* owned */
    int64_t length; /* 0: the record dimension */
};

/* The number of bytes of an attribute's values that are kept. */
#define FROM_NC_VALUES 32

struct from_nc_attribute {
    const char *name; /* static */
    long variable;    /* its number in struct from_file; -1: an attribute of the file */
    int size;         /* bytes of a value */
    bool is_integer, is_signed;
    int64_t count; /* of values; only the first FROM_NC_VALUES bytes are kept */
    unsigned char values[FROM_NC_VALUES]; /* big-endian */
};

struct from_nc_header {
    struct from_nc_dimension *dimensions;
    size_t dimension_count, dimension_room;
    /* The numbers of the dimensions of each variable of struct from_file. */
    int64_t (*shapes)[FROM_DIMENSIONS_MAX];
    size_t shape_count, shape_room;
    /* The attributes that this library uses (netcdf_header.c lists them). */
    struct from_nc_attribute *attributes;
    size_t attribute_count, attribute_room;
    int64_t records; /* from the header, or computed from the file's size */
    int64_t bytes;   /* of the header */
};

/*
 * Reads the header from head, the beginning of a file. Adds its variables to file and fills header,
 * which the caller frees in any case. Returns 0, -EAGAIN if it needs more of the beginning, or a
 * negative errno with error filled.
 */
int from_nc_read(const struct from_bytes *head, struct from_file *file,
                 struct from_nc_header *header, struct vs_error *error);

void from_nc_free(struct from_nc_header *header);

/* Returns true if the file is in one of netCDF's classic formats. */
bool from_nc_is_it(const struct from_bytes *head);

/* Returns the attribute of a variable, or of the file (-1), or NULL. */
const struct from_nc_attribute *from_nc_attribute(const struct from_nc_header *header,
                                                  long variable, const char *name);

/* Reads count integers of that attribute. Returns false if there are fewer, or if they are not
   32-bit integers. */
bool from_nc_integers(const struct from_nc_header *header, long variable, const char *name,
                      size_t count, int64_t *values);

/* Returns true if the first dimension of that variable is the record dimension. */
bool from_nc_has_records(const struct from_nc_header *header, const struct from_file *file,
                         size_t variable);

#endif
