/* SPDX-License-Identifier: MIT */
#ifndef FROM_SPEC_H
#define FROM_SPEC_H

/* Specs (viewspec(5)) of the variables of a file. */

#include "grid.h"

/*
 * The text of a spec with a view of each chosen variable: of one, with "view"; with several (or
 * where named is true) with "views", named after them. None of the chosen has a reason. It names
 * the file, how its ranks share the variables, and the checksums of what says where they lie. A new
 * string, the caller's to free(), or NULL with error filled.
 */
char *from_spec(const struct from_file *file, const size_t *chosen, size_t count, bool named,
                const struct from_grid *grid, struct vs_error *error);

#endif
