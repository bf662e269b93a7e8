/* SPDX-License-Identifier: MIT */
#ifndef FROM_NRRD_H
#define FROM_NRRD_H

/* NRRD, with the data in the same file (.nrrd) or in another one (.nhdr). */

#include "from.h"

extern const struct from_format from_nrrd;

#endif
