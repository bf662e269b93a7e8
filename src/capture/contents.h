/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_CONTENTS_H
#define CAPTURE_CONTENTS_H

/*
 * How a datatype was made: MPI_Type_get_envelope and MPI_Type_get_contents (MPI 3.1, 4.1.13), and
 * their large-count forms (MPI 4.0, 5.1.13), read alike. What a constructor took is handed out in
 * the order of its arguments.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mpi.h>

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

/* How many numbers there are. */
int64_t capture_contents_numbers(const struct capture_contents *contents);

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

#endif
