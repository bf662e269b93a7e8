/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_LIBRARY_H
#define CAPTURE_LIBRARY_H

/*
 * The MPI library of the captured program, and what differs between MPI libraries. The sources that
 * include this are built once for each of them, and linked with none: load.c makes the program's
 * own library visible before it loads them.
 *
 * Handles are ints in MPICH and pointers in Open MPI: compare and store them, but do not send them
 * to another process.
 */

#include <mpi.h>

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

#endif
