/* SPDX-License-Identifier: MIT */
#ifndef FROM_HDF5_ELEMENT_H
#define FROM_HDF5_ELEMENT_H

/* A part of the module of hdf5_module.h: types. */

#include <hdf5.h>

#include "from/from.h"

/* Sets the variable's etype, size and data representation by a type, or its reason. */
void from_hdf5_element(struct from_variable *variable, hid_t type);

#endif
