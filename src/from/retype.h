/* SPDX-License-Identifier: MIT */
#ifndef FROM_RETYPE_H
#define FROM_RETYPE_H

#include "from.h"

/*
 * Gives a variable of bytes the type in text, "TYPE [SHAPE]": a basic type and the sizes of an
 * array. One size may be *, which stands for as many as there are. Without a shape, the bytes of
 * the last dimension become values. Returns 0, or -EINVAL with error filled.
 */
int from_retype(const struct from_file *file, struct from_variable *variable, const char *text,
                struct vs_error *error);

#endif
