/* SPDX-License-Identifier: MIT */
#ifndef FROM_NETCDF_TILE_H
#define FROM_NETCDF_TILE_H

/*
 * Where a file of a set lies in the whole, by the attributes that models write: FMS (MOM6, and
 * UFS), NEMO, MITgcm's mnc, ROMS and WRF. Each process has written its tile of the decomposed
 * dimensions, and all of the others.
 */

#include "netcdf_header.h"

/* What a tile has of a dimension. */
struct from_nc_range {
    int64_t whole;  /* points of the dimension in the whole; -1: as many as all tiles reach */
    int64_t start;  /* the first one of the tile; -1: behind those of the tiles before it */
    int64_t place;  /* start is -1: the tile's number along the dimension, */
    int64_t places; /* and how many tiles there are; else 0 */
    int64_t skip;   /* halo points before the first one in the file */
    int64_t count;  /* points of the tile, without those of its halo */
    int64_t shared; /* of them, the last ones are also the first ones of the next tile */
};

/*
 * Fills a range for each dimension of header. Returns the name of the model's convention, or NULL:
 * the file is a whole one. *wrong is set where the attributes contradict the dimensions.
 */
const char *from_nc_tile(const struct from_file *file, const struct from_nc_header *header,
                         struct from_nc_range *ranges, const char **wrong);

/* Whether the tile has less than all of that dimension. Its whole and start are known. */
bool from_nc_is_part(const struct from_nc_range *range);

#endif
