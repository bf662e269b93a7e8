/* SPDX-License-Identifier: MIT */
#ifndef FROM_HDF5_VIRTUAL_H
#define FROM_HDF5_VIRTUAL_H

/* Part of the module (hdf5_module.h): virtual datasets, whose values lie in other datasets. */

#include "hdf5_set.h"

/*
 * Finds the positions of a virtual dataset's values, or refuses the variable. from_hdf5_set() must
 * have filled it. Finds all positions even if it is not wanted, but then adds no parts of sources
 * to the header. Fills the listing's error if out of memory.
 */
void from_hdf5_virtual(const struct from_listing *listing, struct from_hdf5_file *in, hid_t set,
                       bool wanted, struct from_variable *variable);

#endif
