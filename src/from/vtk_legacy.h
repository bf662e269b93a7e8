/* SPDX-License-Identifier: MIT */
#ifndef FROM_VTK_LEGACY_H
#define FROM_VTK_LEGACY_H

/* VTK's legacy files, with binary values. */

#include "from.h"

extern const struct from_format from_vtk_legacy;

#endif
