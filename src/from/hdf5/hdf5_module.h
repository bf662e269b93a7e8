/* SPDX-License-Identifier: MIT */
#ifndef FROM_HDF5_MODULE_H
#define FROM_HDF5_MODULE_H

#include "from/from.h"

/*
 * The module mpiio-hdf5.so. It contains the code for HDF5 that needs libhdf5; nothing else is
 * linked with that. It exports one function, which works like from_hdf5_list (formats.h).
 */
#define FROM_HDF5_LIST "mpiio_hdf5_list"

__attribute__((visibility("default"))) int mpiio_hdf5_list(const char *path,
                                                           const struct from_source *source,
                                                           struct from_file *file,
                                                           struct vs_error *error);

#endif
