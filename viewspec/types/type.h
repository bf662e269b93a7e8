/* SPDX-License-Identifier: MIT */
#ifndef VS_TYPE_H
#define VS_TYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "viewspec/base/arena.h"
#include "viewspec/basic.h"
#include "viewspec/map/node.h"
#include "representation.h"
#include "viewspec/spec.h"

/* Private to viewspec/: MPI datatypes (MPI 3.1, 4.1), their elements, and their distribution. */

/*
 * A dealing: the distribution of the elements of an array to the ranks by a darray, scatter,
 * hpf_block or hpf_cyclic. If nothing else in a view depends on the rank, the owner of a byte can
 * be computed without searching the ranks.
 */

/* One dimension: blocks of length elements are distributed cyclically to the places. */
struct vs_deal {
    int64_t size, length, places; /* each 1 or more */
    int64_t weight;               /* ranks from one place to the next */
};

struct vs_dealing {
    int64_t dimensions;
    int64_t extent;         /* bytes of an element, which has all its data inside */
    struct vs_deal deals[]; /* the fastest dimension first */
};

/* Returns the only rank that may own the byte at offset >= 0 from the displacement. O(dimensions).
 */
int64_t vs_dealing_rank(const struct vs_dealing *dealing, int64_t offset);

/*
 * The elements: the sequence of basic types in a type, regardless of their displacements.
 * It is much smaller than the loops of node.h.
 */

struct vs_record;

/*
 * count adjacent instances of a basic type or of a record. Passed by value. If count is 0 there is
 * no data, and nothing else is set.
 */
struct vs_repeat {
    int64_t count;
    int64_t native, file;           /* bytes of one instance in memory, and in the file */
    const struct vs_basic *basic;   /* NULL: a record */
    const struct vs_record *record; /* in an arena, may be shared */
};

/*
 * Parts that follow each other. Neighbors differ, so that a record has elements of at least two
 * basic types.
 */
struct vs_record {
    int64_t count; /* >= 2 */
    const struct vs_repeat *parts;
    /* Bytes before part i. The last of count + 1 entries is the total. */
    const int64_t *native, *file;
};

/*
 * A type: its typemap as loops, and the bounds that MPI derives from it. Displacements and sizes
 * are bytes in the file's representation. Passed by value; the loops are in an arena. Overflow and
 * lack of memory are recorded in the arena; the results must then not be used.
 */
struct vs_type {
    const struct vs_node *node;       /* NULL: no data */
    int64_t lb, ub;                   /* MPI 3.1, 4.1.7; extent = ub - lb */
    bool bounded;                     /* lb and ub come from markers (resized, subarray, darray) */
    bool empty;                       /* an empty typemap: neither data nor markers, no bounds */
    int align;                        /* strictest alignment of its basic types */
    struct vs_repeat elements;        /* its basic types; none if it is made of etypes */
    bool identical;                   /* the file's bytes are the native ones */
    const struct vs_array *array;     /* the array that the type is exactly a part of; NULL: none */
    const struct vs_array *part;      /* as array, but regardless of the type's bounds */
    const struct vs_dealing *dealing; /* the exact distribution of the rank's part; NULL: none */
};

/* Returns the extent of type. Overflow is recorded in arena. */
int64_t vs_type_extent(struct vs_arena *arena, const struct vs_type *type);

/* Makes a basic type. It is not aligned in a representation with other sizes. Its size is not 0. */
struct vs_type vs_type_basic(struct vs_arena *arena, const struct vs_basic *basic,
                             const struct vs_representation *representation);

/* Makes one etype an element of a filetype. */
struct vs_type vs_type_unit(struct vs_arena *arena, const struct vs_type *etype);

/* Makes count blocks of length instances; stride in bytes. For contiguous, vector and hvector. */
struct vs_type vs_type_vector(struct vs_arena *arena, int64_t count, int64_t length, int64_t stride,
                              const struct vs_type *old);

/* Makes the indexed family. lengths NULL: `length` for all. Displacements are multiples of unit. */
struct vs_type vs_type_indexed(struct vs_arena *arena, int64_t count, const int64_t *lengths,
                               int64_t length, const int64_t *displacements, int64_t unit,
                               const struct vs_type *old);

/* Makes a struct. The extent is rounded up to the strictest alignment. */
struct vs_type vs_type_struct(struct vs_arena *arena, int64_t count, const int64_t *lengths,
                              const int64_t *displacements, const struct vs_type *types);

struct vs_type vs_type_resized(struct vs_arena *arena, int64_t lb, int64_t extent,
                               const struct vs_type *old);

/*
 * A type's part of one dimension. In units of size instances of the dimensions before it: `count`
 * blocks of `length` from `start` on, `stride` apart, and a last block of `rest`.
 */
struct vs_part {
    int64_t size, start, count, length, stride, rest;
};

/* Makes a part of an array, for subarray, darray and derived types. parts: fastest first. */
struct vs_type vs_type_array(struct vs_arena *arena, int64_t dimensions,
                             const struct vs_part *parts, const struct vs_type *old);

/*
 * Returns the part of size elements that process `place` of `places` owns if blocks of length are
 * distributed cyclically. size and length are at least 1, place is less than places. start or
 * stride is 0 if there is no block to begin or to follow.
 */
struct vs_part vs_part_cyclic(int64_t size, int64_t length, int64_t place, int64_t places);

#endif
