/* SPDX-License-Identifier: MIT */
#ifndef FROM_METAIMAGE_H
#define FROM_METAIMAGE_H

/* ITK's MetaImage, with the data in the same file (.mha) or in another one (.mhd). */

#include "from.h"

extern const struct from_format from_metaimage;

#endif
