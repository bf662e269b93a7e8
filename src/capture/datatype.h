/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_DATATYPE_H
#define CAPTURE_DATATYPE_H

#include <jansson.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "viewspec/basic.h"

/*
 * The MPI library of the captured program, and what differs between MPI libraries. The sources that
 * include this are built once for each of them, and linked with none: intercept.c makes the
 * program's own library visible before it loads them.
 *
 * Handles are ints in MPICH and pointers in Open MPI: compare and store them, but do not send them
 * to another process.
 */

/* Open MPI omits what MPI 3.0 has removed. Its mpi.h then defines these names as errors. */
#if defined(OPEN_MPI) && !OMPI_ENABLE_MPI1_COMPAT
#undef MPI_LB
#undef MPI_UB
#undef MPI_COMBINER_HVECTOR_INTEGER
#undef MPI_COMBINER_HINDEXED_INTEGER
#undef MPI_COMBINER_STRUCT_INTEGER
#define MPI_LB                        MPI_DATATYPE_NULL
#define MPI_UB                        MPI_DATATYPE_NULL
#define MPI_COMBINER_HVECTOR_INTEGER  OMPI_WAS_MPI_COMBINER_HVECTOR_INTEGER
#define MPI_COMBINER_HINDEXED_INTEGER OMPI_WAS_MPI_COMBINER_HINDEXED_INTEGER
#define MPI_COMBINER_STRUCT_INTEGER   OMPI_WAS_MPI_COMBINER_STRUCT_INTEGER
#endif

/* Open MPI defines these only if its Fortran compiler has them. */
#ifndef MPI_INTEGER16
#define MPI_INTEGER16 MPI_DATATYPE_NULL
#endif
#ifndef MPI_REAL16
#define MPI_REAL16 MPI_DATATYPE_NULL
#endif
#ifndef MPI_COMPLEX32
#define MPI_COMPLEX32 MPI_DATATYPE_NULL
#endif

/* Functions of MPI 4. A program's library may be older than the header: NULL in that case. */
#if MPI_VERSION >= 4
#define CAPTURE_LARGE_COUNTS 1
#pragma weak PMPI_Type_get_contents_c
#pragma weak PMPI_Type_get_envelope_c
#else
#define CAPTURE_LARGE_COUNTS 0
#endif

/*
 * The construction of a datatype: MPI_Type_get_envelope and MPI_Type_get_contents (MPI 3.1,
 * 4.1.13), and their large-count forms (MPI 4.0, 5.1.13), with one interface. The arguments of the
 * constructor are returned in their order.
 */

struct capture_contents {
    int combiner; /* MPI_COMBINER_ of the constructor without large counts or _INTEGER */
    bool large;   /* counts and displacements are in counts[] */
    bool integer; /* displacements are among ints[]: Fortran 77's constructors */
    bool broken;  /* more arguments were requested than there are */
    int *ints;
    MPI_Aint *addresses;
    MPI_Count *counts;
    MPI_Datatype *types;
    MPI_Count int_count, address_count, count_count, type_count;
    MPI_Count ints_taken, addresses_taken, counts_taken;
};

/*
 * Fills contents. Returns 0 or a negative errno. A predefined type (MPI_COMBINER_NAMED) has no
 * contents. Call capture_contents_free whatever this returns.
 */
int capture_contents_get(MPI_Datatype type, struct capture_contents *contents);

/* Frees the memory and the datatypes of the contents. */
void capture_contents_free(struct capture_contents *contents);

/*
 * Frees a datatype that an MPI call has returned, unless it is predefined or one of Fortran 90's
 * parametrized types, which must not be freed either.
 */
void capture_type_free(MPI_Datatype type);

/* Return the next argument: an int; a count; a distance in bytes. They return 0 after the last
   one. */
int64_t capture_take_int(struct capture_contents *contents);
int64_t capture_take_count(struct capture_contents *contents);
int64_t capture_take_address(struct capture_contents *contents);

/* Returns the basic type (viewspec(5)) of a predefined datatype, or NULL. Thread-safe. */
const struct vs_basic *capture_basic(MPI_Datatype type);

/*
 * Converts a datatype to the JSON of viewspec(5), with all keys, and its components in "oldtype".
 * Displacements and extents are MPI's own.
 */

#define CAPTURE_WHY_SIZE 512

/* The maximum nesting depth of datatypes, as in viewspec(5). */
#define CAPTURE_MAX_DEPTH 64

/* The inputs and results of decoding one view. Fields that are not set are zero. */
struct capture_decoder {
    int rank, ranks; /* of the process in the file's communicator */
    bool bytes;      /* write every basic type as its bytes */
    bool scaled;     /* the representation changes sizes: no extent in bytes may be derived */

    const char *leaf; /* the basic type found, static; NULL: none yet */
    bool mixed;       /* there are several basic types */
    bool bounded;     /* a nested type has bounds other than its data's */
    int depth;
    int64_t dealt; /* blocks of cyclic darrays that were listed one by one */
    char why[CAPTURE_WHY_SIZE];
};

/* Returns the type as a new reference; or NULL, and the reason in why. Local. */
json_t *capture_decode(struct capture_decoder *decoder, MPI_Datatype type);

/*
 * A hash of a datatype's contents, computed without converting them. It identifies a view that is
 * set again. The work is counted in numbers that MPI returns, for each use of a type separately. A
 * type itself counts as CAPTURE_TYPE_WORTH numbers, because requesting it takes about as long.
 */
#define CAPTURE_TYPE_WORTH 16

/*
 * Mixes the contents of type into hash. Subtracts the work from *work, and stops when that becomes
 * negative. Local.
 */
uint64_t capture_fingerprint(uint64_t hash, MPI_Datatype type, int64_t *work);

#endif
