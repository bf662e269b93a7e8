/* SPDX-License-Identifier: MIT */
#ifndef FROM_HDF5_LINKS_H
#define FROM_HDF5_LINKS_H

#include <hdf5.h>

#include "from.h"

/* Private to the module (hdf5_module.h): the other names of objects in an HDF5 file. */

/* An object and the name that it was listed by. */
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
 * Adds to file the hard and soft links whose names objects does not have. An external link becomes
 * a variable that cannot be a view. Returns 0, -ENOMEM with error filled, or -EINVAL without.
 */
int from_hdf5_links(hid_t root, struct from_hdf5_objects *objects, struct from_file *file,
                    struct vs_error *error);

void from_hdf5_objects_free(struct from_hdf5_objects *objects);

#endif
