/* SPDX-License-Identifier: MIT */
#ifndef FROM_HDF5_VIRTUAL_H
#define FROM_HDF5_VIRTUAL_H

/* A part of the module of hdf5_module.h: virtual datasets, whose values are those of other sets. */

#include "hdf5_set.h"

/* Finds where the values of a virtual set lie, or refuses the variable, which from_hdf5_set has
   filled. As there, but nothing is left out: if not wanted, the header gets no parts of sources. */
void from_hdf5_virtual(const struct from_listing *listing, struct from_hdf5_file *in, hid_t set,
                       bool wanted, struct from_variable *variable);

#endif
