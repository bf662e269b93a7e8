/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_MPICH_HANDLES_H
#define MPIIO_MPICH_HANDLES_H

#include <stddef.h>

/*
 * Private to src/core/convert/: the handles of predefined datatypes in the ABI of MPICH and its
 * derivatives, where they are constants. tests/mpi compares them with mpi.h.
 */

/* MPICH's handle for a datatype that it does not support. */
#define MPIIO_DATATYPE_NULL 0x0c000000

/* Returns the handle of basic type `number` (vs_basic_number), which is below VS_BASICS. */
int mpiio_datatype_handle(size_t number);

#endif
