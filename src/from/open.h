/* SPDX-License-Identifier: MIT */
#ifndef FROM_OPEN_H
#define FROM_OPEN_H

#include "from.h"

/*
 * Reads what is in the file at path, of whatever format, or in what goes by such a name: 0, or a
 * negative errno with error filled, whatever the file holds. Specs can be made of the variables
 * that are wanted, whose names are borrowed. The new file is the caller's: from_free.
 */
int from_open(const char *path, struct from_wanted wanted, struct from_file **file,
              struct vs_error *error);

#endif
