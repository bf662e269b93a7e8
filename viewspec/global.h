/* SPDX-License-Identifier: MIT */
#ifndef VS_GLOBAL_H
#define VS_GLOBAL_H

#include <stdbool.h>
#include <stdint.h>

#include "spec.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/*
 * The global array: the array whose parts the ranks of a view own.
 *
 * A view has one if its filetype is a subarray, darray, hpf_block, hpf_cyclic or scatter, perhaps
 * resized, of an array that is the same for all ranks. A view that is the same for all ranks has
 * one, too: the array of its slice (vs_npy). A view with a user-defined representation has none.
 *
 * An etype of one basic type makes one field. If an etype has several basic types, each part of it
 * is a field: an array of the same shape.
 *
 * All functions are local. A global array is immutable; functions that use one are thread-safe,
 * except vs_global_free.
 */
struct vs_global;

/* One field. */
struct vs_global_field {
    const char *name; /* "" if it is the only one; else "f0", "f1", ..., and "f1_f0" if nested */
    const struct vs_basic *basic; /* the type of its values */
    int64_t values; /* values in an element; if more than 1, a dimension that varies fastest */
    const char *value_dim; /* the name of that dimension; NULL: there is none */
    bool big_endian;       /* the byte order of raw bytes (struct vs_box) */
};

/* Text and arrays are borrowed from the global array. */
struct vs_global_facts {
    const char *name;     /* the view's "name", or else its name in the spec, or "data" */
    const char *view;     /* the view's name in the spec; NULL: it has none */
    int64_t dimensions;   /* without records and values; may be 0 */
    const int64_t *sizes; /* elements in each dimension, as in the spec */
    const int64_t *block; /* the shape of rank 0's part if all ranks own blocks of a regular grid;
                             else equal to sizes */
    const char *const *dims; /* names of the dimensions: "dims", or dim_0, ...; with records their
                                dimension is the first (the last if fortran) */
    bool fortran;            /* the first dimension varies fastest, not the last */
    bool records;            /* the array repeats: a dimension of records varies slowest of all */
    bool whole;              /* only whole records can be cut out (vs_global_box) */
    int64_t fields;
    const struct vs_global_field *field;
    bool has_grid;     /* the view has a "grid" */
    double origin[3];  /* the coordinate of element 0 in each dimension, as in the spec */
    double spacing[3]; /* the distance of elements in each dimension */
};

/*
 * Finds the global array of view number index. file_size decides whether a file has records: it
 * does if it holds several tiles, or if "dims" names them. Borrows spec, which must outlive the
 * array. Returns 0, -ENOMEM, or -EINVAL with the reason in error if there is no such array.
 */
int vs_global_new(const struct vs_spec *spec, size_t index, int64_t file_size,
                  struct vs_global **global, struct vs_error *error);

/* Returns true if the view has the key "global", which then describes the array. */
bool vs_global_is_given(const struct vs_spec *spec, size_t index);

/* Frees a global array. NULL is allowed. No other thread may use it. */
void vs_global_free(struct vs_global *global);

/* Returns the facts, borrowed. */
const struct vs_global_facts *vs_global_facts(const struct vs_global *global);

/* Returns the number of ranks of the spec. */
int64_t vs_global_ranks(const struct vs_global *global);

/* Returns the number of complete records in a file of that size: 0 or 1 without records. */
int64_t vs_global_records(const struct vs_global *global, int64_t file_size);

/* The most dimensions that an array can have, including records and values. */
#define VS_GLOBAL_DIMENSIONS 32

/* The shape of a field: the dimensions in the order of the spec, with records and values. */
struct vs_global_shape {
    int dimensions;
    int64_t sizes[VS_GLOBAL_DIMENSIONS];
    int64_t block[VS_GLOBAL_DIMENSIONS]; /* 1 record */
    const char *dims[VS_GLOBAL_DIMENSIONS];
};

/* Sets the shape of a field with that many records. */
void vs_global_shape(const struct vs_global *global, int64_t field, int64_t records,
                     struct vs_global_shape *shape);

/* A box of a field. All its elements must be inside the array. */
struct vs_box {
    int64_t field;
    int64_t record, records;      /* the first record and their number; 0 and 1 without records */
    const int64_t *start, *count; /* in each of facts->dimensions; counts of at least 1 */
    bool raw;                     /* bytes as they are in the file; possible if vs_global_is_raw */
};

/*
 * Compiles a view whose slice is the box, in the array's order. The caller owns the reference; the
 * view may outlive the array. Returns 0 or a negative errno with error filled.
 */
int vs_global_box(const struct vs_global *global, const struct vs_box *box, struct vs_view **view,
                  struct vs_error *error);

/* Returns true if values have the same size in the file as in memory, and a byte order. */
bool vs_global_is_raw(const struct vs_global *global);

/*
 * The part of the array that a rank owns. Ranks may own nothing: a count is 0 then. Counts are -1
 * if the view has a "global", and the rank's slice has no shape with as many dimensions.
 */
struct vs_local {
    bool box; /* it is a box that begins at start; else elements are spread over the array */
    int64_t start[VS_GLOBAL_DIMENSIONS], count[VS_GLOBAL_DIMENSIONS]; /* facts->dimensions each */
};

/*
 * Finds a rank's part. Without dimensions nothing is set. Returns 0 or a negative errno with error
 * filled.
 */
int vs_global_local(const struct vs_global *global, int64_t rank, struct vs_local *local,
                    struct vs_error *error);

/*
 * Compiles a view whose slice is a rank's part of a field, with all records, in the array's order.
 * raw is as in struct vs_box. The caller owns the reference; the view may outlive the array.
 * Returns 0 or a negative errno with error filled.
 */
int vs_global_slice(const struct vs_global *global, int64_t rank, int64_t field, bool raw,
                    struct vs_view **view, struct vs_error *error);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
