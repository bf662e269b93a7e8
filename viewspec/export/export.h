/* SPDX-License-Identifier: MIT */
#ifndef VS_EXPORT_H
#define VS_EXPORT_H

#include <stdint.h>

#include "viewspec/global.h"

/*
 * Not installed: files of a mount in formats of other programs. Such a file is a sequence of
 * pieces: text that is computed, and values of the shared file. All functions are local and
 * thread-safe, unless a comment limits this. Errors are negative errno values.
 */

/* Values of the shared file: the slice of a view. */
struct vs_values {
    struct vs_view *view; /* a reference */
    int64_t offset;       /* of the first value in the slice */
    int64_t swap;         /* the bytes of each number of this size are reversed; 1: none are */

    /*
     * In the file the values are an array of the shape `padded`, of which the slice is the box from
     * the first element on with the shape `count`; the rest is zeros. The slowest dimension comes
     * first, and the last one is padded. Without dimensions they are the slice as it is. element is
     * in bytes.
     */
    int dimensions;
    int64_t count[VS_GLOBAL_DIMENSIONS], padded[VS_GLOBAL_DIMENSIONS];
    int64_t element;
};

struct vs_piece {
    int64_t length; /* bytes; values end with zeros where the slice is shorter */
    char *text;     /* owned; NULL: values, or zeros if there is no view */
    struct vs_values values;
};

/* A file. Zero it before use. */
struct vs_export {
    int64_t length;
    size_t count;
    struct vs_piece *pieces; /* owned */
};

/* Frees the pieces. */
void vs_export_free(struct vs_export *export);

/*
 * A format that has a file for each rank, beside its slice, and one for all ranks. The functions
 * make these files; the caller frees them by vs_export_free, also after an error. `width` is the
 * number of digits in the names of ranks. Errors: -EINVAL with the reason in error if the format
 * cannot show the array, or -ENOMEM.
 */
struct vs_format {
    const char *whole_suffix; /* of the file for all ranks, with its dot */
    const char *whole;        /* its name without the suffix; NULL: the array's name */
    int64_t most; /* the file for all ranks refers to those of up to so many; 0: to none */
    int (*rank)(const struct vs_global *global, int64_t rank, int64_t file_size,
                struct vs_export *file, struct vs_error *error);
    int (*all)(const struct vs_global *global, int64_t file_size, int width, struct vs_export *file,
               struct vs_error *error);
};

extern const struct vs_format vs_netcdf; /* CDF-5 */
extern const struct vs_format vs_vtk;    /* VTK ImageData, and its parallel form */

/*
 * A Zarr store, version 2: a tree of folders and files, whose arrays are the fields of the global
 * arrays of a spec. Nodes are numbered: node 0 is the store itself; the other groups and arrays
 * follow. Each has fixed files, which are numbered from 0, and an array has chunks after these.
 */
struct vs_zarr;

/*
 * Makes a store of global arrays, which are borrowed and must outlive it. Its chunks keep the
 * shapes that suit a file of file_size bytes, so that a program that has read their shapes can read
 * them while the file grows. Returns 0, -ENOMEM, or -EINVAL with the reason in error.
 */
int vs_zarr_new(const struct vs_global *const *globals, size_t count, int64_t file_size,
                struct vs_zarr **zarr, struct vs_error *error);
void vs_zarr_free(struct vs_zarr *zarr);

/* The most nodes of a store, and the most files of a node that are found. */
#define VS_ZARR_NODES ((int64_t)1 << 18)
#define VS_ZARR_FILES (((int64_t)1 << 41) - 2)

/* Returns the number of nodes. */
int64_t vs_zarr_nodes(const struct vs_zarr *zarr);

/* An entry of a node's folder. */
struct vs_zarr_entry {
    int64_t node; /* the folder of another node; or -1 for a file */
    int64_t file; /* the number of the file in its node */
};

/* The longest name of an entry, with its zero byte. */
#define VS_ZARR_NAME 512

/* Returns the entry with that name, of a file of file_size bytes. Returns false if there is none.
 */
bool vs_zarr_find(const struct vs_zarr *zarr, int64_t node, int64_t file_size, const char *name,
                  struct vs_zarr_entry *entry);

/*
 * Returns entry number index of a node's folder, and its name in name (VS_ZARR_NAME bytes). Returns
 * false after the last one. Takes constant time.
 */
bool vs_zarr_entry(const struct vs_zarr *zarr, int64_t node, int64_t file_size, int64_t index,
                   char *name, struct vs_zarr_entry *entry);

/* Returns the length of a file in bytes, or a negative errno: -ENOENT if there is no such file. */
int64_t vs_zarr_length(const struct vs_zarr *zarr, int64_t node, int64_t file, int64_t file_size);

/* Makes a file. The caller frees it by vs_export_free, also after an error. */
int vs_zarr_file(const struct vs_zarr *zarr, int64_t node, int64_t file, int64_t file_size,
                 struct vs_export *result, struct vs_error *error);

#endif
