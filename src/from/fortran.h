/* SPDX-License-Identifier: MIT */
#ifndef FROM_FORTRAN_H
#define FROM_FORTRAN_H

#include "from.h"

/* Sequential unformatted Fortran files: a variable of bytes for each record. */
extern const struct from_format from_fortran;

/*
 * Adds the variable "recordA-B": records A to B, which have the same length, as rows. Returns its
 * number, or a negative errno with error filled if the name has this form; -ENOENT if it has not.
 */
long from_fortran_rows(struct from_file *file, const char *name, struct vs_error *error);

#endif
