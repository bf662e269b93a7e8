/* SPDX-License-Identifier: MIT */
#ifndef FROM_BOV_H
#define FROM_BOV_H

/* Bricks of values (BOV), as VisIt and VAPOR read them: a .bov file beside the data. */

#include "from.h"

extern const struct from_format from_bov;

#endif
