/* SPDX-License-Identifier: MIT */
#ifndef FROM_NETCDF_MERGE_H
#define FROM_NETCDF_MERGE_H

/* The whole variables of a set of tiles, and the members that hold their parts. */

#include "netcdf_tile.h"

struct from_nc_member {
    char *path; /* owned */
    struct from_file file;
    struct from_nc_header header;
    struct from_nc_range *ranges; /* one for each dimension, owned */
    const char *model;            /* NULL: the file is no tile */
};

struct from_nc_members {
    struct from_nc_member *tiles;
    size_t count, room;
};

/*
 * Makes file of the tiles, of which there is at least one: the whole variables of all, members and
 * parts of the header, and a note where the tiles do not cover the whole. Completes their ranges.
 * 0, or a negative errno with error filled.
 */
int from_nc_merge(struct from_nc_members *set, struct from_file *file, struct vs_error *error);

#endif
