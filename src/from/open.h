/* SPDX-License-Identifier: MIT */
#ifndef FROM_OPEN_H
#define FROM_OPEN_H

#include "from.h"

/*
 * Lists the variables of the file at path, in any format. If no file has that name, a format may
 * find the file that it stands for. Specs can be made of the wanted variables only; their names are
 * borrowed. Returns 0, or a negative errno with error filled, even if the file is damaged. The
 * caller frees the file with from_free().
 */
int from_open(const char *path, struct from_wanted wanted, struct from_file **file,
              struct vs_error *error);

#endif
