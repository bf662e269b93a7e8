/* SPDX-License-Identifier: MIT */
#ifndef FROM_HDF5_PRIVATE_H
#define FROM_HDF5_PRIVATE_H

#define H5_USE_110_API
#include <hdf5.h>
#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

#include "from/from.h"

/*
 * The module mpiio-hdf5.so. It contains the code for HDF5 that needs libhdf5; nothing else is
 * linked with that. It exports FROM_HDF5_LIST (from/formats.h).
 */
__attribute__((visibility("default"))) int mpiio_hdf5_list(const struct from_source *source,
                                                           struct from_file *file);

/*
 * A record of where libhdf5 reads raw data. While is_on, such a read leaves the buffer as it is,
 * and sets at to its displacement in the file. This finds a chunk's address by one lookup in the
 * chunk index. To query the address, older releases of libhdf5 walk the index.
 */
struct from_hdf5_watch {
    bool is_on;
    int64_t at;
};

/* HDF5 files that are open for reading. */

/* An HDF5 file: the one that is listed, or one with sources of its virtual datasets. */
struct from_hdf5_file {
    const char *path;
    hid_t root; /* libhdf5's identifier of the file; negative: not open */
    const struct from_source *source;
    struct from_hdf5_watch watch;
    int64_t base;  /* the base address, which is the size of the user block */
    int64_t super; /* size of the superblock, which begins at the base address */
    int64_t place; /* displacement of the file in the whole */
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
 * Resolves the name of a file in the HDF5 file at path. A relative name is looked up in the
 * directory of that file and in the working directory, in this order if beside_first. If there is
 * no such file, returns the name. Returns a new string, or NULL if out of memory.
 */
char *from_hdf5_beside(const char *path, const char *name, bool beside_first);

/*
 * The whole, which a spec assembles if a variable has bytes
 * that are not in the HDF5 file. It begins with that file, so that displacements are the same in
 * both. Other files and holes follow. A hole lies in no file, and reads as a value, repeated.
 */

struct from_whole {
    struct from_whole_file {
        char *path;
        dev_t device;
        ino_t inode;
        int64_t at, size;
    } * files;
    size_t count, room;
    int64_t end;
    json_t *fills;
};

/*
 * Adds the file at path, unless the whole has it already. Returns its number in files, or a
 * negative errno: -EFBIG if the whole would exceed 2^62-1 bytes.
 */
int64_t from_whole_add(struct from_whole *whole, const char *path);

/*
 * Adds a hole that reads as a value of length bytes, repeated. Returns its displacement, or -EFBIG
 * or -ENOMEM.
 */
int64_t from_whole_hole(struct from_whole *whole, int64_t bytes, const unsigned char *value,
                        size_t length);

/* Returns "members" as in viewspec(5): a new reference, or NULL if out of memory. */
json_t *from_whole_members(const struct from_whole *whole);

void from_whole_clear(struct from_whole *whole);

/* Adds a box to a list whose number of dimensions is set. Returns 0 or -ENOMEM. */
int from_boxes_add(struct from_boxes *boxes, int64_t at, const int64_t *start,
                   const int64_t *length, const int64_t *shape);

/*
 * Sorts the boxes by displacement, and moves them to a variable. Refuses it instead if boxes that
 * are not chunks overlap or interleave in the file, because the displacements of a filetype must
 * increase.
 */
void from_boxes_keep(struct from_boxes *boxes, struct from_variable *variable);

/* Hyperslab selections, and pairs of them. */

/* The selected indices of one dimension: count blocks that begin stride indices apart. */
struct from_comb {
    int64_t start, stride, count, block;
};

struct from_selection {
    int dimensions;
    struct from_comb combs[FROM_DIMENSIONS_MAX];
};

/*
 * Reads the selection of a dataspace of the variable. Returns false unless it is everything, or a
 * regular hyperslab within the variable's shape.
 */
bool from_selection_read(hid_t space, const struct from_variable *variable,
                         struct from_selection *selection);

/*
 * A walk over two selections whose elements are paired in C order, box by box. A box has no gaps in
 * either array. Only dimensions with several selected indices are paired.
 */
struct from_pairing {
    struct from_selection to, from;
    int count;                             /* of paired dimensions */
    int to_dimension[FROM_DIMENSIONS_MAX]; /* the number of each in `to` */
    int from_dimension[FROM_DIMENSIONS_MAX];
    int64_t at[FROM_DIMENSIONS_MAX], length[FROM_DIMENSIONS_MAX]; /* box, in selected indices */
    bool is_split[FROM_DIMENSIONS_MAX];                           /* boxes have one index there */
};

/*
 * Moves to the first box. from_shape is the shape of the array that `from` selects from. Returns
 * false if the shapes of the selections differ, apart from dimensions with one index.
 */
bool from_pairing_start(struct from_pairing *pairing, const int64_t *from_shape);

/* Moves to the next box. Returns false after the last one. */
bool from_pairing_next(struct from_pairing *pairing);

/* Sets the first index and the length of the box in each dimension of the array of `from`, or of
   `to`. The length is 1 in dimensions that are not paired. */
void from_pairing_box(const struct from_pairing *pairing, bool in_from, int64_t *start,
                      int64_t *length);

/* Finds the type, shape and layout of a dataset. */

/* A dataset, and the variable that it fills. */
struct from_hdf5_set {
    struct from_file *file;
    struct from_whole *whole; /* NULL: specs cannot have bytes of other files, or holes */
    struct from_hdf5_file *in;
    hid_t set, properties; /* the dataset, and its creation property list */
    bool wanted; /* else positions are omitted that do not decide whether it can be a view */
    struct from_variable *variable;
};

/*
 * Fills the variable, which has a name, from the dataset, whose object header is at displacement
 * header. If the layout is virtual, leaves the positions of the values to from_hdf5_virtual().
 * Records an error if out of memory. Returns the layout, or H5D_LAYOUT_ERROR if the variable was
 * refused before the layout was read.
 */
H5D_layout_t from_hdf5_read(const struct from_hdf5_set *set, int64_t header);

/*
 * Adds a hole to the whole for values of the variable. They read as the dataset's fill value.
 * Returns the hole's displacement. Returns -1 if the variable was refused, or if out of memory.
 */
int64_t from_hdf5_hole(const struct from_hdf5_set *set, int64_t bytes);

/* Adds a file to the whole. Returns it; or NULL if it refuses the variable, or if out of memory.
   Valid until another one is added. */
const struct from_whole_file *from_hdf5_place(const struct from_hdf5_set *set, const char *path);

/* Names. */

/* Returns true if a dataset's attribute, a string of fixed size, begins with the text.
 */
bool from_hdf5_says(hid_t set, const char *attribute, const char *text);

/* Sets the names of the variable's dimensions, if each has a scale or a label. */
void from_hdf5_names(hid_t set, struct from_variable *variable);

/* Types. */

/* Sets the variable's etype, size and data representation by a type, or its reason. */
void from_hdf5_element(struct from_variable *variable, hid_t type);

/* Virtual datasets, whose values lie in other datasets. */

/*
 * Finds the positions of a virtual dataset's values, or refuses the variable. from_hdf5_read() must
 * have filled it. Finds all positions even if it is not wanted, but then adds no parts of sources
 * to the header. Records an error if out of memory.
 */
void from_hdf5_virtual(const struct from_hdf5_set *set);

#endif
