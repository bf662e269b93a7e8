/* SPDX-License-Identifier: MIT */
#ifndef FROM_NRRD_H
#define FROM_NRRD_H

/* NRRD, with its data (.nrrd) or beside it (.nhdr). */

#include "from.h"

extern const struct from_format from_nrrd;

#endif
