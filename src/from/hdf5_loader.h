/* SPDX-License-Identifier: MIT */
#ifndef FROM_HDF5_LOADER_H
#define FROM_HDF5_LOADER_H

#include "from.h"

/* HDF5, netCDF-4 too: read by a module (hdf5_module.h), which is loaded when it is needed. */
extern const struct from_format from_hdf5;

/*
 * Lists what is in an HDF5 file whose bytes are source's; NULL: those of the file at path. As list
 * of struct from_format.
 */
int from_hdf5_list(const char *path, const struct from_source *source, struct from_file *file,
                   struct vs_error *error);

#endif
