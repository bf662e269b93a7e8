/* SPDX-License-Identifier: MIT */
#ifndef FROM_HDF5_SELECTION_H
#define FROM_HDF5_SELECTION_H

/* Part of the module (hdf5_module.h): hyperslab selections, and pairs of them. */

#include "from/from.h"
#include "hdf5_source.h"

/* The selected indices of one dimension: count blocks that begin stride indices apart. */
struct from_comb {
    int64_t start, stride, count, block;
};

struct from_selection {
    int dimensions;
    struct from_comb combs[FROM_DIMENSIONS_MAX];
};

/*
 * Reads the selection of a dataspace of the variable. Returns false unless it is everything, or a
 * regular hyperslab within the variable's shape.
 */
bool from_selection_read(hid_t space, const struct from_variable *variable,
                         struct from_selection *selection);

/*
 * A walk over two selections whose elements are paired in C order, box by box. A box has no gaps in
 * either array. Only dimensions with several selected indices are paired.
 */
struct from_pairing {
    struct from_selection to, from;
    int count;                             /* of paired dimensions */
    int to_dimension[FROM_DIMENSIONS_MAX]; /* the number of each in `to` */
    int from_dimension[FROM_DIMENSIONS_MAX];
    int64_t at[FROM_DIMENSIONS_MAX], length[FROM_DIMENSIONS_MAX]; /* box, in selected indices */
    bool is_split[FROM_DIMENSIONS_MAX];                           /* boxes have one index there */
};

/*
 * Moves to the first box. from_shape is the shape of the array that `from` selects from. Returns
 * false if the shapes of the selections differ, apart from dimensions with one index.
 */
bool from_pairing_start(struct from_pairing *pairing, const int64_t *from_shape);

/* Moves to the next box. Returns false after the last one. */
bool from_pairing_next(struct from_pairing *pairing);

/* Sets the first index and the length of the box in each dimension of the array of `from`, or of
   `to`. The length is 1 in dimensions that are not paired. */
void from_pairing_box(const struct from_pairing *pairing, bool in_from, int64_t *start,
                      int64_t *length);

#endif
