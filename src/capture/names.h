/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_NAMES_H
#define CAPTURE_NAMES_H

#include <mpi.h>

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

/* The pair that a predefined datatype is, or NULL. Static. Thread-safe. */
const struct capture_pair *capture_pair(MPI_Datatype type);

#endif
