/* SPDX-License-Identifier: MIT */
#ifndef FROM_VIEW_H
#define FROM_VIEW_H

/* From a variable to a view of it, as viewspec(5) has them. */

#include "grid.h"

/*
 * The view of a variable without a reason: what each rank of the grid has of it, where the grid has
 * as many dimensions as the variable; of another grid each rank has all. A new reference, or NULL
 * with error filled: no memory, or what the grid cannot do with such a variable.
 */
json_t *from_view(const struct from_variable *variable, const struct from_grid *grid,
                  struct vs_error *error);

#endif
