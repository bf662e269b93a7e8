/* SPDX-License-Identifier: MIT */
#ifndef FROM_NETCDF_TILE_H
#define FROM_NETCDF_TILE_H

/*
 * Finds the position of a tile in the whole from the attributes that models write: FMS (MOM6 and
 * UFS), NEMO, MITgcm's mnc, ROMS and WRF. Each process has written its part of the decomposed
 * dimensions, and all of the other dimensions.
 */

#include "netcdf_header.h"

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

#endif
