/* SPDX-License-Identifier: MIT */
#ifndef FROM_HDF5_BOXES_H
#define FROM_HDF5_BOXES_H

/* Part of the module (hdf5_module.h): the boxes that a variable consists of. */

#include "from/from.h"

/* The boxes of one variable. Each is a record of integers. A zeroed struct has no boxes. */
struct from_boxes {
    int dimensions;
    bool even; /* all boxes are chunks, and have the size of a chunk */
    int64_t *records;
    size_t count, room;
};

/*
 * Adds a box whose first element has index start and lies at displacement at. Unless boxes are
 * even, length is its extent, and shape the extent of the array in the file that it is a part of.
 * Returns 0 or -ENOMEM.
 */
int from_boxes_add(struct from_boxes *boxes, int64_t at, const int64_t *start,
                   const int64_t *length, const int64_t *shape);

/*
 * Returns the record of a box: at and start, then length and shape unless boxes are even. Valid
 * until the next box is added.
 */
int64_t *from_boxes_record(const struct from_boxes *boxes, size_t number);

/*
 * Sorts the boxes by displacement, and makes them the chunks of a variable. Refuses the variable if
 * boxes of different sizes overlap or interleave in the file, because the displacements of a
 * filetype must increase. Returns 0 or -ENOMEM.
 */
int from_boxes_keep(struct from_boxes *boxes, struct from_variable *variable);

#endif
