/* SPDX-License-Identifier: MIT */
#ifndef FROM_HDF5_LINKS_H
#define FROM_HDF5_LINKS_H

#include <hdf5.h>

#include "from.h"

/* Private to the module (hdf5_module.h): links in an HDF5 file that are paths. */

/*
 * Adds a soft link of the group to file, under its name, a path. An external link becomes a
 * variable that cannot be a view. Links of other types are left out. Returns 0 or -ENOMEM.
 */
int from_hdf5_link(hid_t group, const char *link, const char *name, const H5L_info_t *info,
                   struct from_file *file);

#endif
