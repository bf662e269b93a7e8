/* SPDX-License-Identifier: MIT */
#include "vtk_shape.h"

#include <string.h>

#include "viewspec/base/integer.h"

void from_vtk_shape(struct from_variable *variable, const char *section, const int64_t points[3],
                    int64_t tuples, int64_t components)
{
    bool is_cell = !strcmp(section, "CellData");
    int64_t product = is_cell || !strcmp(section, "PointData") || !strcmp(section, "Points");
    int64_t size[3];

    for (int d = 0; d < 3; d++) {
        size[d] = is_cell ? vs_max(points[d] - 1, 1) : points[d];
        product = points[d] > 0 ? vs_mul_capped(product, size[d]) : 0;
    }
    bool is_grid = product && product == tuples;
    for (int d = 2; d >= 0 && is_grid; d--)
        variable->shape[variable->dimensions++] = size[d];
    if (!is_grid)
        variable->shape[variable->dimensions++] = tuples;
    if (components != 1)
        variable->shape[variable->dimensions++] = components;
}
