/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_DATATYPE_H
#define CAPTURE_DATATYPE_H

#include <jansson.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * How a datatype was made: MPI_Type_get_envelope and MPI_Type_get_contents (MPI 3.1, 4.1.13), and
 * their large-count forms (MPI 4.0, 5.1.13), read alike. What a constructor took is handed out in
 * the order of its arguments.
 */

struct capture_contents {
    int combiner; /* MPI_COMBINER_ of the small constructor, without _INTEGER */
    bool large;   /* counts and displacements are in counts[] */
    bool integer; /* displacements are among ints[]: Fortran 77's constructors */
    bool broken;  /* more was taken than there is */
    int *ints;
    MPI_Aint *addresses;
    MPI_Count *counts;
    MPI_Datatype *types;
    MPI_Count int_count, address_count, count_count, type_count;
    MPI_Count ints_taken, addresses_taken, counts_taken;
};

/*
 * Fills contents: 0 or a negative errno. What a predefined type (MPI_COMBINER_NAMED) contains is
 * nothing. Whatever it returns, capture_contents_free is due.
 */
int capture_contents_get(MPI_Datatype type, struct capture_contents *contents);

/* Frees memory and the datatypes that the contents brought. */
void capture_contents_free(struct capture_contents *contents);

/*
 * Frees a datatype that an MPI call has brought, unless it is predefined, as those of Fortran 90's
 * parameters are, too.
 */
void capture_type_free(MPI_Datatype type);

/* The next argument: of type int; a number of things; a distance in bytes. 0 behind the last. */
int64_t capture_take_int(struct capture_contents *contents);
int64_t capture_take_count(struct capture_contents *contents);
int64_t capture_take_address(struct capture_contents *contents);

/*
 * The viewspec's name of a predefined datatype (viewspec(5), BASIC TYPES), or NULL. Static.
 * Thread-safe.
 */
const char *capture_basic_name(MPI_Datatype type);

/* A type of two values, for MPI_MINLOC: what a struct of them looks like. */
struct capture_pair {
    MPI_Datatype type;
    const char *first, *second; /* names of basic types */
    int displacement;           /* of the second, bytes */
};

/*
 * A datatype as viewspec(5) writes it: JSON with all keys, what it is made of in "oldtype".
 * Displacements and extents are MPI's own.
 */

#define CAPTURE_WHY_SIZE 512

/* How deep datatypes may be nested: as viewspec(5) has it. */
#define CAPTURE_MAX_DEPTH 64

/* The inputs and results of decoding one view. Fields that are not set are zero. */
struct capture_decoder {
    int rank, ranks; /* the process, in the file's communicator */
    bool bytes;      /* write every basic type as its bytes */
    bool scaled;     /* the representation has other sizes: no extents in bytes may be made up */

    const char *leaf; /* the basic type met, static; NULL: none yet */
    bool mixed;       /* there were several */
    bool bounded;     /* a type inside has bounds that its data do not give */
    int depth;
    int64_t dealt; /* blocks of cyclic darrays that were written down one by one */
    char why[CAPTURE_WHY_SIZE];
};

/* The type, a new reference; or NULL, and why says what cannot be written. Local. */
json_t *capture_decode(struct capture_decoder *decoder, MPI_Datatype type);

/*
 * A distributed array (MPI 3.1, 4.1.4) of contents, over oldtype (borrowed) with that extent in
 * bytes. It stays a darray where it is made for the process's own rank; for another rank, or a
 * grid that is not the file's communicator, what that rank owns is written out: as a subarray, or
 * indexed where it is cyclic. A new reference, or NULL and decoder->why.
 */
json_t *capture_darray(struct capture_decoder *decoder, struct capture_contents *contents,
                       int64_t extent, json_t *oldtype);

/*
 * A hash of a datatype's contents, computed without writing them down, by which a view that is set
 * again is recognised. The work is counted in numbers that MPI was asked for, each use of a type
 * anew. A type itself counts as CAPTURE_TYPE_WORTH of them, as asking for it takes about as long.
 */
#define CAPTURE_TYPE_WORTH 16

/*
 * Mixes what type is made of into hash. Takes the work from *work, and stops where that becomes
 * negative. Local.
 */
uint64_t capture_fingerprint(uint64_t hash, MPI_Datatype type, int64_t *work);

#endif
