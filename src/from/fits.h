/* SPDX-License-Identifier: MIT */
#ifndef FROM_FITS_H
#define FROM_FITS_H

/* FITS: images and binary tables. */

#include "from.h"

extern const struct from_format from_fits;

#endif
