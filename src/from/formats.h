/* SPDX-License-Identifier: MIT */
#ifndef FROM_FORMATS_H
#define FROM_FORMATS_H

#include "from.h"

/* The supported formats. Each has a source of that name; Fortran also has a header. */
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

/* HDF5, including netCDF-4: read by a module (hdf5_module.h) that is loaded on demand. */
extern const struct from_format from_hdf5;

/*
 * Lists the contents of an HDF5 file whose bytes come from source, or if that is NULL from the file
 * at path. Like list of struct from_format.
 */
int from_hdf5_list(const char *path, const struct from_source *source, struct from_file *file,
                   struct vs_error *error);

/*
 * Lists the variables of the file at path, in any format. If no file has that name, a format may
 * find a file that describes it. Specs can be made of the wanted variables only; their names are
 * borrowed. Returns 0, or a negative errno with error filled, even if the file is damaged. The
 * caller frees the file with from_free().
 */
int from_open(const char *path, struct from_wanted wanted, struct from_file **file,
              struct vs_error *error);

/* Arrays of VTK's formats. */

/*
 * Sets the dimensions of a variable. These are the grid's if the variable has one tuple for each
 * point (sections Points and PointData) or cell (CellData), else the number of tuples. Several
 * components are the last dimension. points are the grid's along x, y and z; 0: there is no grid.
 */
void from_vtk_shape(struct from_variable *variable, const char *section, const int64_t points[3],
                    int64_t tuples, int64_t components);

#endif
