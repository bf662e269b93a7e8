/* SPDX-License-Identifier: MIT */
#ifndef FROM_HDF5_SOURCE_H
#define FROM_HDF5_SOURCE_H

#define H5_USE_110_API
#include <hdf5.h>

#include "from.h"

/*
 * Tells where values lie, by what libhdf5 reads of them: while is_on, reading values reads nothing,
 * and sets at to the displacement of the last read in the file. All releases of libhdf5 look up a
 * chunk that is read in its index, but older ones walk the index to tell a chunk's address.
 */
struct from_hdf5_watch {
    bool is_on;
    int64_t at;
};

/*
 * Opens a file of libhdf5 for reading, whose bytes are those of source. Source and watch outlive
 * it; name is for people. Negative where it cannot be opened.
 */
hid_t from_hdf5_open(const char *name, const struct from_source *source,
                     struct from_hdf5_watch *watch);

#endif
