/* SPDX-License-Identifier: MIT */
#ifndef FROM_NETCDF_SET_H
#define FROM_NETCDF_SET_H

/*
 * Sets of netCDF files that the processes of a model wrote: ocean.nc.0000, ocean.nc.0001, ... They
 * are members (viewspec(5)) of one file with the whole variables.
 */

#include "netcdf_header.h"

/* Whether the file at path is a tile of a set, by its attributes and its name, which has a number.
 */
bool from_nc_is_tile(const char *path, const struct from_file *file,
                     const struct from_nc_header *header);

/*
 * Reads the set of the tile at path, and fills file with the whole variables and the members. 0, or
 * a negative errno with error filled: a file is damaged or of another set, or tiles overlap.
 */
int from_nc_set(const char *path, struct from_file *file, struct vs_error *error);

/*
 * Returns the path of the first tile of the set that goes by this name, a new string: the tiles'
 * names without the number and what sets it off. NULL if there is none (or no memory).
 */
char *from_nc_set_find(const char *name);

#endif
