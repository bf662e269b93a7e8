/* SPDX-License-Identifier: MIT */
#ifndef VS_ZARR_PRIVATE_H
#define VS_ZARR_PRIVATE_H

#include <stddef.h>

#include "export_private.h"
#include "viewspec/base/arena.h"

/* Private to viewspec/export/: a Zarr store. */

/* zarr_tree.c: its groups and arrays. */

enum vs_zarr_kind { VS_ZARR_GROUP, VS_ZARR_FIELD, VS_ZARR_COORDINATES };

struct vs_zarr_node {
    enum vs_zarr_kind kind;
    const char *name; /* of its folder; "" for the store itself */
    int64_t up;       /* the node that contains it; -1: none */
    const struct vs_global *global;
    int64_t records;      /* of the file for which the store was made */
    int64_t field;        /* VS_ZARR_FIELD */
    int64_t dimension;    /* VS_ZARR_COORDINATES: of the array */
    int64_t first, count; /* VS_ZARR_GROUP: the nodes in it */
    const char **dims;    /* VS_ZARR_FIELD: names of the dimensions; NULL: those of its shape */
};

/* A slot of a hash table: a node by its name, or an array's dimension by its name. */
struct vs_zarr_slot {
    const char *name; /* NULL: free */
    int64_t place;
    int64_t number;
};

struct vs_zarr {
    struct vs_arena arena; /* texts */
    struct vs_zarr_node *nodes;
    int64_t count;
    struct vs_zarr_slot *slots;
    size_t room; /* a power of two */
};

/* Fills a zeroed store, as vs_zarr_new describes it. The caller frees it, also after an error. */
int vs_zarr_make(struct vs_zarr *zarr, const struct vs_global *const *globals, size_t count,
                 int64_t file_size, struct vs_error *error);

/* Returns the node of that name in a group, or -1. Local, thread-safe. */
int64_t vs_zarr_node(const struct vs_zarr *zarr, int64_t up, const char *name);

/*
 * chunks.c: the chunks of an array. A chunk is a block of the ranks if these own blocks of a
 * regular grid, else a number of rows, planes or records. All functions are local and thread-safe.
 *
 * Chunks are numbered from 0 in the order of the file, so that those of records keep their numbers
 * when the file grows. The shape of a chunk does not depend on the present number of records.
 */

/* The shape and the chunks of an array. Dimensions are in the order of the shape. */
struct vs_chunks {
    struct vs_global_shape shape; /* block is a chunk */
    bool fortran;
    int records;                        /* number of the dimension of records; -1: none */
    int64_t element;                    /* bytes */
    int64_t count;                      /* of the chunks */
    int64_t grid[VS_GLOBAL_DIMENSIONS]; /* chunks along each dimension */
};

/*
 * Chooses the chunks of a field in a file of file_size bytes. `usual` is the number of records by
 * which the size of a chunk is chosen.
 */
void vs_chunks_of_field(const struct vs_global *global, int64_t field, int64_t usual,
                        int64_t file_size, struct vs_chunks *chunks);

/* Makes one chunk of an array with one dimension, whose name is borrowed. element is in bytes. */
void vs_chunks_of_line(const char *dimension, int64_t size, int64_t element,
                       struct vs_chunks *chunks);

/* Returns the bytes of a chunk. */
int64_t vs_chunks_bytes(const struct vs_chunks *chunks);

/*
 * Returns the number of the chunk with that name, "0.1.2", or -1. Chunks of records that the file
 * lacks have numbers as well: a program may know them from before the file was truncated. If they
 * did not exist, it would use uninitialized memory.
 */
int64_t vs_chunks_parse(const struct vs_chunks *chunks, const char *name);

/* Sets the indices of a chunk, one for each dimension. */
void vs_chunks_index(const struct vs_chunks *chunks, int64_t chunk, int64_t *index);

/* Writes the name of a chunk into `size` bytes. */
void vs_chunks_name(const struct vs_chunks *chunks, int64_t chunk, char *name, size_t size);

#endif
