/* SPDX-License-Identifier: MIT */
#ifndef FROM_NETCDF_H
#define FROM_NETCDF_H

#include "from.h"

/* netCDF classic: CDF-1, CDF-2 (64-bit offsets), CDF-5 (64-bit data). */
extern const struct from_format from_netcdf;

#endif
