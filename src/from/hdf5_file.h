/* SPDX-License-Identifier: MIT */
#ifndef FROM_HDF5_FILE_H
#define FROM_HDF5_FILE_H

/* A part of the module of hdf5_module.h: HDF5 files, open for reading. */

#include "hdf5_source.h"

/* An HDF5 file: the one that is listed, or one that has values of its virtual sets. */
struct from_hdf5_file {
    const char *path;
    hid_t root; /* of libhdf5; negative: not open */
    const struct from_source *source;
    struct from_hdf5_watch watch;
    int64_t base;  /* where addresses count from: behind a user's own block */
    int64_t super; /* bytes of the superblock there */
    int64_t place; /* where the file begins in the whole (hdf5_whole.h) */
    int fd;        /* negative: none */
    struct from_source plain;
};

/*
 * Opens a file whose bytes are source's; NULL: those of the file at path. 0 or a negative errno:
 * -EINVAL where libhdf5 cannot. To be closed in any case. The file must not move.
 */
int from_hdf5_file_open(struct from_hdf5_file *file, const char *path,
                        const struct from_source *source);

void from_hdf5_file_close(struct from_hdf5_file *file);

/*
 * Returns the size of the object header at a displacement, as far as it says where the values lie:
 * of its first part. 0 where it is not known.
 */
int64_t from_hdf5_header_size(const struct from_hdf5_file *file, int64_t at);

/*
 * Returns the path of a file that another HDF5 file names: the name itself, or, if it is relative
 * and beside_first or no file, beside that file. A new string, or NULL without memory.
 */
char *from_hdf5_beside(const char *path, const char *name, bool beside_first);

#endif
