/* SPDX-License-Identifier: MIT */
#ifndef FROM_VTK_XML_H
#define FROM_VTK_XML_H

/* VTK's XML files with raw appended data: .vti, .vtr, .vts, .vtu and .vtp. */

#include "from.h"

extern const struct from_format from_vtk_xml;

#endif
