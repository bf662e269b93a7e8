/* SPDX-License-Identifier: MIT */
#ifndef FROM_HDF5_SELECTION_H
#define FROM_HDF5_SELECTION_H

/* A part of the module of hdf5_module.h: selections, and how two of them pair up. */

#include "from.h"
#include "hdf5_source.h"

/* Selected indices of one dimension: count blocks, stride indices apart. */
struct from_comb {
    int64_t start, stride, count, block;
};

struct from_selection {
    int dimensions;
    struct from_comb combs[FROM_DIMENSIONS_MAX];
};

/* Reads the selection of a space, all of which is the given shape. False if it is not a regular one
   inside of that shape. */
bool from_selection_read(hid_t space, const struct from_variable *variable,
                         struct from_selection *selection);

/* A box of elements in two arrays, whose selections pair up in C order. */
struct from_pairing {
    struct from_selection to, from;
    int count;                             /* of dimensions with several indices */
    int to_dimension[FROM_DIMENSIONS_MAX]; /* for each of them, which it is */
    int from_dimension[FROM_DIMENSIONS_MAX];
    int64_t at[FROM_DIMENSIONS_MAX], length[FROM_DIMENSIONS_MAX]; /* of the box, among those */
    bool is_split[FROM_DIMENSIONS_MAX];                           /* boxes have one index */
};

/*
 * Begins with the first box. from_shape is that of the array that `from` selects of. False if the
 * selections are of other shapes.
 */
bool from_pairing_start(struct from_pairing *pairing, const int64_t *from_shape);

/* Goes on to the next box. False behind the last. */
bool from_pairing_next(struct from_pairing *pairing);

/* The first index of the box, and its length, in all dimensions of an array: 1 in those of one
   index. */
void from_pairing_box(const struct from_pairing *pairing, bool in_from, int64_t *start,
                      int64_t *length);

#endif
