/* SPDX-License-Identifier: MIT */
#ifndef FROM_HDF5_FILE_H
#define FROM_HDF5_FILE_H

/* Part of the module (hdf5_module.h): HDF5 files that are open for reading. */

#include "hdf5_source.h"

/* An HDF5 file: the one that is listed, or one with sources of its virtual datasets. */
struct from_hdf5_file {
    const char *path;
    hid_t root; /* libhdf5's identifier of the file; negative: not open */
    const struct from_source *source;
    struct from_hdf5_watch watch;
    int64_t base;  /* the base address, which is the size of the user block */
    int64_t super; /* size of the superblock, which begins at the base address */
    int64_t place; /* displacement of the file in the whole (hdf5_whole.h) */
    int fd;        /* negative: none */
    struct from_source plain;
};

/*
 * Opens a file whose bytes come from source or, if that is NULL, from the file at path. Returns 0
 * or a negative errno: -EINVAL if the file is not a regular one or libhdf5 cannot open it. The
 * caller closes the file even then, and does not move the struct before, since libhdf5 points into
 * it. path and source must outlive it.
 */
int from_hdf5_file_open(struct from_hdf5_file *file, const char *path,
                        const struct from_source *source);

void from_hdf5_file_close(struct from_hdf5_file *file);

/*
 * Returns the size of the object header at a displacement, without continuation blocks. The layout
 * message normally lies before these. Returns 0 if the size is unknown.
 */
int64_t from_hdf5_header_size(const struct from_hdf5_file *file, int64_t at);

/*
 * Resolves the name of a file in the HDF5 file at path. A relative name is looked up in the
 * directory of that file and in the working directory, in this order if beside_first. If there is
 * no such file, returns the name. Returns a new string, or NULL if out of memory.
 */
char *from_hdf5_beside(const char *path, const char *name, bool beside_first);

#endif
