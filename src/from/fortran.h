/* SPDX-License-Identifier: MIT */
#ifndef FROM_FORTRAN_H
#define FROM_FORTRAN_H

#include "from.h"

/* Sequential unformatted Fortran files: a variable of bytes for each record. */
extern const struct from_format from_fortran;

/*
 * Adds the variable "recordA-B", whose rows are records A to B of the same length. Returns its
 * number, -ENOENT if the name does not have this form, or a negative errno with error filled.
 */
long from_fortran_rows(struct from_file *file, const char *name, struct vs_error *error);

#endif
