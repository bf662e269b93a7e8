/* SPDX-License-Identifier: MIT */
#ifndef FROM_HDF5_SET_H
#define FROM_HDF5_SET_H

/* Part of the module (hdf5_module.h): finds the type, shape and layout of a dataset. */

#include "hdf5_file.h"
#include "hdf5_whole.h"

/* The arguments that all functions of a listing share. */
struct from_listing {
    struct from_file *file;
    struct vs_error *error;
    struct from_whole *whole; /* NULL: specs cannot have bytes of other files, or holes */
};

/*
 * Fills a variable, which has a name, from a dataset. If the layout is virtual, leaves the
 * positions of the values to from_hdf5_virtual(). If the variable is not wanted, omits positions
 * that do not decide whether it can be a view. Fills the listing's error if out of memory. Returns
 * the layout, or H5D_LAYOUT_ERROR if the variable was refused before the layout was read.
 */
H5D_layout_t from_hdf5_set(const struct from_listing *listing, struct from_hdf5_file *in, hid_t set,
                           int64_t header, bool wanted, struct from_variable *variable);

/*
 * Adds a hole to the whole for values of a variable. They read as the dataset's fill value. Returns
 * the hole's displacement. Returns -1 if the variable was refused, or if out of memory.
 */
int64_t from_hdf5_hole(const struct from_listing *listing, hid_t set, int64_t bytes,
                       struct from_variable *variable);

/*
 * Sets size to the size of a file. If wanted, adds the file to the whole and sets at to its
 * displacement there; otherwise sets at to 0. Returns false if the variable was refused, or if out
 * of memory.
 */
bool from_hdf5_place(const struct from_listing *listing, const char *path, bool wanted, int64_t *at,
                     int64_t *size, struct from_variable *variable);

/* Fills the listing's error with ENOMEM, unless it is set. Returns its code. */
int from_hdf5_no_memory(const struct from_listing *listing);

#endif
