/* SPDX-License-Identifier: MIT */
#ifndef VS_NPY_TYPE_H
#define VS_NPY_TYPE_H

#include <stdbool.h>

#include "viewspec/basic.h"

/* Private to viewspec/: the longest type string, with its zero byte. */
#define VS_NPY_TYPE 16

/* npy.c: writes NumPy's type string of values into text (VS_NPY_TYPE bytes), as in "<f8". */
void vs_npy_type(const struct vs_basic *basic, bool big_endian, char *text);

#endif
