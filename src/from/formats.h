/* SPDX-License-Identifier: MIT */
#ifndef FROM_FORMATS_H
#define FROM_FORMATS_H

#include "from.h"

/* The formats that are known; each has a source of that name. HDF5 and Fortran have headers. */
extern const struct from_format from_bov;
extern const struct from_format from_envi;
extern const struct from_format from_fits;
extern const struct from_format from_metaimage;
extern const struct from_format from_mitgcm;
extern const struct from_format from_netcdf;
extern const struct from_format from_npy;
extern const struct from_format from_nrrd;
extern const struct from_format from_subfiling;
extern const struct from_format from_vtk_legacy;
extern const struct from_format from_vtk_xml;

/* Returns the format of files that begin with head, or NULL. Borrowed. */
const struct from_format *from_format_of(const struct from_bytes *head);

/* Returns the path of the file that describes what goes by that name, a new string, or NULL. */
char *from_format_find(const char *name);

/* Returns the formats' names, "a, b, c". Borrowed. */
const char *from_format_names(void);

#endif
