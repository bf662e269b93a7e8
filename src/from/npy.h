/* SPDX-License-Identifier: MIT */
#ifndef FROM_NPY_H
#define FROM_NPY_H

#include "from.h"

/* NumPy's .npy, versions 1.0, 2.0 and 3.0: one variable, with the name of the file. */
extern const struct from_format from_npy;

#endif
