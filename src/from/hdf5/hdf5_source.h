/* SPDX-License-Identifier: MIT */
#ifndef FROM_HDF5_SOURCE_H
#define FROM_HDF5_SOURCE_H

#define H5_USE_110_API
#include <hdf5.h>

#include "from/from.h"

/*
 * A record of where libhdf5 reads raw data. While is_on, such a read leaves the buffer as it is,
 * and sets at to its displacement in the file. This finds a chunk's address by one lookup in the
 * chunk index. To query the address, older releases of libhdf5 walk the index.
 */
struct from_hdf5_watch {
    bool is_on;
    int64_t at;
};

/*
 * Opens a file for reading with libhdf5, whose bytes come from source. name appears in errors, and
 * distinguishes the file from others that libhdf5 opens for it. All three arguments must outlive
 * the file. Returns libhdf5's identifier, which is negative on error.
 */
hid_t from_hdf5_open(const char *name, const struct from_source *source,
                     struct from_hdf5_watch *watch);

#endif
