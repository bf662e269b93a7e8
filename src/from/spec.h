/* SPDX-License-Identifier: MIT */
#ifndef FROM_SPEC_H
#define FROM_SPEC_H

#include "from.h"
#include "grid.h"

/* Specs (viewspec(5)) of the variables of a file. */

/*
 * Returns the text of a spec with a view of each chosen variable. A single one is "view"; several
 * (or one if named is true) are "views", named after the variables. None of the chosen variables
 * may have a reason. The spec names the file, the decomposition, and the checksums of the parts
 * that describe the positions. The caller frees the new string with free(). Returns NULL with error
 * filled on failure.
 */
char *from_spec(const struct from_file *file, const size_t *chosen, size_t count, bool named,
                const struct from_grid *grid, struct vs_error *error);

/* Converting a variable to a view of viewspec(5). */

/*
 * Returns the view of a variable without a reason. Each rank of the grid has its part of the
 * variable if both have the same number of dimensions; otherwise each rank has the whole variable.
 * Returns a new reference, or NULL with error filled if memory is exhausted, or the grid does not
 * support such a variable.
 */
json_t *from_view(const struct from_variable *variable, const struct from_grid *grid,
                  struct vs_error *error);

/*
 * Returns true if each rank's elements have the same order in the array and in the file: chunks are
 * whole lines, planes, ... of the array, in its order. Otherwise a view needs a buftype.
 */
bool from_chunks_in_order(const struct from_variable *variable);

/*
 * Gives a variable of bytes the type in text, "TYPE [SHAPE]": a basic type and the sizes of an
 * array. One size may be *, which is replaced by the size that fits. Without a shape, the bytes of
 * the last dimension become values. Returns 0, or -EINVAL with error filled.
 */
int from_retype(const struct from_file *file, struct from_variable *variable, const char *text,
                struct vs_error *error);

#endif
