/* SPDX-License-Identifier: MIT */
#ifndef FROM_NETCDF_MERGE_H
#define FROM_NETCDF_MERGE_H

/* Merges a set of tiles into whole variables, and makes the tiles members that hold their parts. */

#include "netcdf_tile.h"

struct from_nc_member {
    char *path; /* owned */
    struct from_file file;
    struct from_nc_header header;
    struct from_nc_range *ranges; /* one for each dimension, owned */
    const char *model;            /* NULL: the file is not a tile */
};

struct from_nc_members {
    struct from_nc_member *tiles;
    size_t count, room;
};

/*
 * Fills file from the tiles, at least one: the whole variables, the members, the parts of the
 * header, and a note if the tiles do not cover the whole. Completes the tiles' ranges. Returns 0,
 * or a negative errno with error filled.
 */
int from_nc_merge(struct from_nc_members *set, struct from_file *file, struct vs_error *error);

#endif
