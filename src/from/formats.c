/* SPDX-License-Identifier: MIT */
#include "formats.h"

#include <stddef.h>

#include "fortran.h"
#include "hdf5_loader.h"

static const struct from_format *const formats[] = {
    &from_netcdf, &from_subfiling,  &from_hdf5,    &from_npy,  &from_nrrd,
    &from_fits,   &from_vtk_legacy, &from_vtk_xml, &from_envi, &from_metaimage,
    &from_bov,    &from_mitgcm,     &from_fortran};

const struct from_format *from_format_of(const struct from_bytes *head)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
        if (formats[i]->is_it(head))
            return formats[i];
    return NULL;
}

char *from_format_find(const char *name)
{
    char *path = NULL;

    for (size_t i = 0; path == NULL && i < sizeof(formats) / sizeof(*formats); i++)
        if (formats[i]->find)
            path = formats[i]->find(name);
    return path;
}

const char *from_format_names(void)
{
    return "netCDF classic, HDF5 and its subfiles, .npy, MITgcm's .meta, FITS, VTK, NRRD, "
           "MetaImage, ENVI, BOV, Fortran records";
}
