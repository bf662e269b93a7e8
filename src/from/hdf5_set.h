/* SPDX-License-Identifier: MIT */
#ifndef FROM_HDF5_SET_H
#define FROM_HDF5_SET_H

/* A part of the module of hdf5_module.h: what a dataset is and where its values lie. */

#include "hdf5_file.h"
#include "hdf5_whole.h"

/* A listing. */
struct from_listing {
    struct from_file *file;
    struct vs_error *error;
    struct from_whole *whole; /* NULL: specs have only the bytes of the file itself */
};

/*
 * Fills a variable, which has a name, from a set, unless its layout is virtual: then all but where
 * its values lie. If not wanted, these places are left out as far as it can be a view for sure.
 * Fills the listing's error where memory is short. Returns the layout.
 */
H5D_layout_t from_hdf5_set(const struct from_listing *listing, struct from_hdf5_file *in, hid_t set,
                           int64_t header, bool wanted, struct from_variable *variable);

/* Takes a hole of the whole for a variable's values; they read as the set's fill value. Returns
   where it begins, or -1 if the variable was refused. */
int64_t from_hdf5_hole(const struct from_listing *listing, hid_t set, int64_t bytes,
                       struct from_variable *variable);

/* Adds a file to the whole if wanted: where it begins and how long it is. False if the variable was
   refused. */
bool from_hdf5_place(const struct from_listing *listing, const char *path, bool wanted, int64_t *at,
                     int64_t *size, struct from_variable *variable);

/* Fills the listing's error. Returns -ENOMEM. */
int from_hdf5_no_memory(const struct from_listing *listing);

#endif
