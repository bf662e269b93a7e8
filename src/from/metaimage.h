/* SPDX-License-Identifier: MIT */
#ifndef FROM_METAIMAGE_H
#define FROM_METAIMAGE_H

/* ITK's MetaImage, with its data (.mha) or beside it (.mhd). */

#include "from.h"

extern const struct from_format from_metaimage;

#endif
