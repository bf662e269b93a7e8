/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FROM_H
#define VIEW_FROM_H

#include "args.h"

/*
 * Lists what is in the file that args->from names, or prints a spec of the variables that are
 * chosen. Returns an exit status.
 */
int view_from(const struct view_args *args);

#endif
