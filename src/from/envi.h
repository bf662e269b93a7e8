/* SPDX-License-Identifier: MIT */
#ifndef FROM_ENVI_H
#define FROM_ENVI_H

/* ENVI's images: a .hdr file beside the data. */

#include "from.h"

extern const struct from_format from_envi;

#endif
