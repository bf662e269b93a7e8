/* SPDX-License-Identifier: MIT */
#ifndef FROM_HDF5_LOADER_H
#define FROM_HDF5_LOADER_H

#include "from.h"

/* HDF5, netCDF-4 too: read by a module (hdf5_module.h), which is loaded when it is needed. */
extern const struct from_format from_hdf5;

#endif
