/* SPDX-License-Identifier: MIT */
#ifndef FROM_HDF5_SOURCE_H
#define FROM_HDF5_SOURCE_H

#define H5_USE_110_API
#include <hdf5.h>

#include "from.h"

/*
 * A file of libhdf5, open for reading, whose bytes are those of source, which outlives it; name is
 * for people. Negative where it cannot be opened.
 */
hid_t from_hdf5_open(const char *name, const struct from_source *source);

#endif
