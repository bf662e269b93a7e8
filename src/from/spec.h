/* SPDX-License-Identifier: MIT */
#ifndef FROM_SPEC_H
#define FROM_SPEC_H

#include "from.h"
#include "grid.h"

/* Specs (viewspec(5)) of the variables of a file. */

/*
 * The text of a spec with a view of each chosen variable: of one, with "view"; with several (or
 * where named is true) with "views", named after them. None of the chosen has a reason. It names
 * the file, how its ranks share the variables, and the checksums of what says where they lie. A new
 * string, the caller's to free(), or NULL with error filled.
 */
char *from_spec(const struct from_file *file, const size_t *chosen, size_t count, bool named,
                const struct from_grid *grid, struct vs_error *error);

/* From a variable to a view of it, as viewspec(5) has them. */

/*
 * The view of a variable without a reason: what each rank of the grid has of it, where the grid has
 * as many dimensions as the variable; of another grid each rank has all. A new reference, or NULL
 * with error filled: no memory, or what the grid cannot do with such a variable.
 */
json_t *from_view(const struct from_variable *variable, const struct from_grid *grid,
                  struct vs_error *error);

/*
 * Whether the elements of each rank, in the order of the array, lie in that of the file: chunks are
 * whole lines, planes, ... of the array, and lie as it goes. Else a view needs a buftype.
 */
bool from_chunks_in_order(const struct from_variable *variable);

/*
 * Gives a variable of bytes the type in text, "TYPE [SHAPE]": a basic type and the sizes of an
 * array. One size may be *, which stands for as many as there are. Without a shape, the bytes of
 * the last dimension become values. Returns 0, or -EINVAL with error filled.
 */
int from_retype(const struct from_file *file, struct from_variable *variable, const char *text,
                struct vs_error *error);

#endif
