/* SPDX-License-Identifier: MIT */
#ifndef FROM_FORMATS_H
#define FROM_FORMATS_H

#include "from.h"

/* The supported formats. Each has a source of that name; hdf5.c has HDF5's subfiles, too. */
extern const struct from_format from_bov;
extern const struct from_format from_envi;
extern const struct from_format from_fits;
extern const struct from_format from_fortran;
extern const struct from_format from_hdf5; /* including netCDF-4 */
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

/* The function that the module for HDF5 exports. It lists the contents of a file whose bytes come
   from source or, if that is NULL, from the file at its path. */
#define FROM_HDF5_LIST "mpiio_hdf5_list"

/*
 * Lists the variables of the file at path, in any format. If no file has that name, a format may
 * find a file that describes it. Specs can be made of the wanted variables only; their names are
 * borrowed. Returns 0, or a negative errno with error filled, even if the file is damaged. The
 * caller frees the file with from_free().
 */
int from_open(const char *path, struct from_wanted wanted, struct from_file **file,
              struct vs_error *error);

/* Reading files. */

/* Returns true if a path ends with suffix, and has something before it. */
bool from_has_suffix(const char *path, const char *suffix);

/* Paths of files; owned. Initialize it with zeros. */
struct from_paths {
    char **list;
    size_t count, room;
};

/* Adds a path, a string that it takes over. Returns 0, or -ENOMEM, also if path is NULL. */
int from_paths_add(struct from_paths *paths, char *path);

/* Adds the files in the folder of path whose names is_one accepts, and sorts the whole list. base
   is the last component of path. Returns 0, or a negative errno with the error of file, unless that
   is NULL, filled. */
int from_paths_find(struct from_paths *paths, struct from_file *file, const char *path,
                    bool (*is_one)(const char *entry, const char *base));

/* Returns the paths as JSON: a new reference, or NULL if memory is exhausted or one is not UTF-8,
   as a spec must be. */
json_t *from_paths_json(const struct from_paths *paths);

void from_paths_free(struct from_paths *paths);

/* Parses the beginning of a file. head is valid only during the call. */
typedef int from_parser(struct from_file *file, const struct from_bytes *head, void *argument);

/*
 * Calls parse with the beginning of the file at its path, and again with more of it as long as
 * parse returns -EAGAIN. Returns the value of parse, or a negative errno with the file's error
 * filled if the file is not a regular one, cannot be read or ends too early.
 */
int from_head(struct from_file *file, from_parser *parse, void *argument);

/* Records of sequential unformatted Fortran files, each a variable of bytes. */

struct from_markers {
    int width; /* 4 or 8 bytes */
    bool big;  /* big-endian */
};

/* A record. Its subrecords lie between markers of their own. */
struct from_record {
    int64_t bytes; /* of data */
    int64_t end;   /* the displacement after the last marker */
    int64_t subrecords;
    int64_t wrong; /* the displacement where it is damaged */
    char why[128];
};

/*
 * Finds the kind of markers with which most records follow each other from displacement at. Returns
 * the number of these records, up to 4, or 0 if there are none. If strict is set, a kind with a
 * damaged record does not count.
 */
int from_find_markers(const struct from_source *source, int64_t at, bool strict,
                      struct from_markers *markers, struct from_record *first);

/*
 * Adds the variable "recordA-B", whose rows are records A to B of the same length. Returns its
 * number, -ENOENT if the name does not have this form, or a negative errno with the file's error
 * filled.
 */
long from_fortran_rows(struct from_file *file, const char *name);

/* Arrays of VTK's formats. */

/*
 * Sets the dimensions of a variable. These are the grid's if the variable has one tuple for each
 * point (sections Points and PointData) or cell (CellData), else the number of tuples. Several
 * components are the last dimension. points are the grid's along x, y and z; 0: there is no grid.
 */
void from_vtk_shape(struct from_variable *variable, const char *section, const int64_t points[3],
                    int64_t tuples, int64_t components);

#endif
