/* SPDX-License-Identifier: MIT */
#ifndef FROM_NETCDF_H
#define FROM_NETCDF_H

#include "from.h"

/* Files in netCDF's classic formats, and sets of them. First the header of a file. */

struct from_nc_dimension {
    char *name;     /* owned */
    int64_t length; /* 0: the record dimension */
};

/* The number of bytes of an attribute's values that are kept. */
#define FROM_NC_VALUES 32

struct from_nc_attribute {
    char *name;    /* owned */
    long variable; /* its number in struct from_file; -1: an attribute of the file */
    int size;      /* bytes of a value */
    char kind;     /* of the values, as for from_number; S: characters */
    int64_t count; /* of values; only the first FROM_NC_VALUES bytes are kept */
    unsigned char values[FROM_NC_VALUES]; /* big-endian */
};

struct from_nc_header {
    struct from_nc_dimension *dimensions;
    size_t dimension_count, dimension_room;
    /* The numbers of the dimensions of each variable of struct from_file. */
    int64_t (*shapes)[FROM_DIMENSIONS_MAX];
    size_t shape_room;
    struct from_nc_attribute *attributes;
    size_t attribute_count, attribute_room;
    int64_t records; /* from the header, or computed from the file's size */
    int64_t bytes;   /* of the header */
};

/*
 * Reads the header from head, the beginning of a file. Adds its variables to file and fills header,
 * which the caller frees in any case. Returns 0, -EAGAIN if it needs more of the beginning, or a
 * negative errno with the file's error filled.
 */
int from_nc_read(const struct from_bytes *head, struct from_file *file,
                 struct from_nc_header *header);

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

/*
 * Finds the position of a tile in the whole from the attributes that models write: FMS (MOM6 and
 * UFS), NEMO, MITgcm's mnc, ROMS and WRF. Each process has written its part of the decomposed
 * dimensions, and all of the other dimensions.
 */

/* The points of a dimension that a tile has. */
struct from_nc_range {
    int64_t whole;  /* points of the dimension in the whole; -1: up to the last point of any tile */
    int64_t start;  /* the first point of the tile; -1: it follows the tile before it */
    int64_t place;  /* if start is -1: the tile's number along the dimension, */
    int64_t places; /* and the number of tiles along it; else 0 */
    int64_t skip;   /* halo points before the first point in the file */
    int64_t count;  /* points of the tile without its halo */
    int64_t shared; /* the number of last points that are also first points of the next tile */
};

/*
 * Fills a range for each dimension of header. Returns the name of the model's convention, or NULL
 * if the file is not a tile. Sets *wrong to the name of a dimension that the attributes contradict,
 * or to NULL.
 */
const char *from_nc_tile(const struct from_file *file, const struct from_nc_header *header,
                         struct from_nc_range *ranges, const char **wrong);

/* Returns true if the tile has only a part of that dimension. whole and start must be known. */
bool from_nc_is_part(const struct from_nc_range *range);

/* Merges a set of tiles into whole variables, and makes the tiles members that hold their parts. */

struct from_nc_member {
    struct from_file file;
    struct from_nc_header header;
    struct from_nc_range *ranges; /* one for each dimension, owned */
    const char *model;            /* NULL: the file is not a tile */
};

struct from_nc_members {
    struct from_nc_member *tiles;
    size_t count;
};

/*
 * Fills file from the tiles, at least one: the whole variables, the members, the parts of the
 * header, and a note if the tiles do not cover the whole. Completes the tiles' ranges. Returns 0,
 * or a negative errno with the file's error filled.
 */
int from_nc_merge(struct from_nc_members *set, struct from_file *file);

#endif
