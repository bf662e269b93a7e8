/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_DECODE_H
#define CAPTURE_DECODE_H

/*
 * A datatype as viewspec(5) writes it: JSON with all keys, what it is made of in "oldtype".
 * Displacements and extents are MPI's own.
 */

#include <stdbool.h>

#include <jansson.h>
#include <mpi.h>

#define CAPTURE_WHY_SIZE 512

/* How deep datatypes may be nested: as viewspec(5) has it. */
#define CAPTURE_MAX_DEPTH 64

/* What decoding one view needs and finds out. Zero what is not set. */
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

#endif
