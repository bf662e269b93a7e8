/* SPDX-License-Identifier: MIT */
#ifndef FROM_NETCDF_SET_H
#define FROM_NETCDF_SET_H

/*
 * Sets of netCDF files that the processes of a model wrote: ocean.nc.0000, ocean.nc.0001, ... They
 * become members (viewspec(5)) of one file with the whole variables.
 */

#include "netcdf_header.h"

/* Returns true if the file at path is a tile of a set: it has a model's attributes, and a number at
   the end of its name or before .nc. */
bool from_nc_is_tile(const char *path, const struct from_file *file,
                     const struct from_nc_header *header);

/*
 * Reads the set that the tile at path belongs to, and fills file with the whole variables and the
 * members. Returns 0, or a negative errno with error filled if a file is damaged or of another set,
 * or if tiles overlap.
 */
int from_nc_set(const char *path, struct from_file *file, struct vs_error *error);

/*
 * Returns the path of the first tile of a set, a new string. name is the tiles' name without the
 * number and its separator. Returns NULL if there is no such set or memory is exhausted.
 */
char *from_nc_set_find(const char *name);

#endif
