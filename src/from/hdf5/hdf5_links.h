/* SPDX-License-Identifier: MIT */
#ifndef FROM_HDF5_LINKS_H
#define FROM_HDF5_LINKS_H

#include <hdf5.h>

#include "from/from.h"

/* Part of the module (hdf5_module.h): soft and external links. */

/*
 * Adds a soft link of a group to file. name is the path of the link in the HDF5 file. An external
 * link becomes a variable that cannot be a view. Ignores links of other types. Returns 0 or
 * -ENOMEM.
 */
int from_hdf5_link(hid_t group, const char *link, const char *name, const H5L_info_t *info,
                   struct from_file *file);

#endif
