/* SPDX-License-Identifier: MIT */
#ifndef FROM_VTK_SHAPE_H
#define FROM_VTK_SHAPE_H

/* Arrays of VTK's formats. */

#include "from.h"

/*
 * Gives a variable its dimensions. Those of the grid if it is one of the points (sections Points
 * and PointData) or cells (CellData), and has a tuple for each; else the number of tuples. Several
 * components are the last one. points are the grid's along x, y and z; 0: there is no grid.
 */
void from_vtk_shape(struct from_variable *variable, const char *section, const int64_t points[3],
                    int64_t tuples, int64_t components);

#endif
