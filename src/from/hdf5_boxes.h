/* SPDX-License-Identifier: MIT */
#ifndef FROM_HDF5_BOXES_H
#define FROM_HDF5_BOXES_H

/* A part of the module of hdf5_module.h: the boxes that a variable consists of. */

#include "from.h"

/* Boxes of one variable; each is a record of numbers. Zeros: none. */
struct from_boxes {
    int dimensions;
    bool even; /* chunks: all boxes are of one size, that of the variable's chunks */
    int64_t *records;
    size_t count, room;
};

/*
 * Adds a box whose first element has index start and lies at a displacement. Unless boxes are even,
 * it has length elements, and is part of an array of that shape. 0 or -ENOMEM.
 */
int from_boxes_add(struct from_boxes *boxes, int64_t at, const int64_t *start,
                   const int64_t *length, const int64_t *shape);

/* Returns the record of a box: at, start, length, shape. Borrowed. */
int64_t *from_boxes_record(const struct from_boxes *boxes, size_t number);

/*
 * Makes the boxes the chunks of a variable, or refuses it where they lie between each other, as a
 * view cannot. 0 or -ENOMEM.
 */
int from_boxes_keep(struct from_boxes *boxes, struct from_variable *variable);

#endif
