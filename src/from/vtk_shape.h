/* SPDX-License-Identifier: MIT */
#ifndef FROM_VTK_SHAPE_H
#define FROM_VTK_SHAPE_H

/* Arrays of VTK's formats. */

#include "from.h"

/*
 * Sets the dimensions of a variable. These are the grid's if the variable has one tuple for each
 * point (sections Points and PointData) or cell (CellData), else the number of tuples. Several
 * components are the last dimension. points are the grid's along x, y and z; 0: there is no grid.
 */
void from_vtk_shape(struct from_variable *variable, const char *section, const int64_t points[3],
                    int64_t tuples, int64_t components);

#endif
