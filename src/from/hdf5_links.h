/* SPDX-License-Identifier: MIT */
#ifndef FROM_HDF5_LINKS_H
#define FROM_HDF5_LINKS_H

#include <hdf5.h>

#include "from.h"

/* Private to the module (hdf5_module.h): additional names of objects in an HDF5 file. */

/* An object and the name under which it was listed. */
struct from_hdf5_object {
    haddr_t address;
    char *name; /* owned */
};

/* Starts zeroed. */
struct from_hdf5_objects {
    struct from_hdf5_object *list;
    size_t count, room;
};

/* Adds an object (the name is copied). Returns 0 or -ENOMEM. */
int from_hdf5_object(struct from_hdf5_objects *objects, const char *name, haddr_t address);

/*
 * Adds to file all soft links, and the hard links whose names are not in objects, which it sorts.
 * An external link becomes a variable that cannot be a view. Returns 0, or -EINVAL, with error
 * filled if memory is exhausted.
 */
int from_hdf5_links(hid_t root, struct from_hdf5_objects *objects, struct from_file *file,
                    struct vs_error *error);

void from_hdf5_objects_free(struct from_hdf5_objects *objects);

#endif
