/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_DATAREP_H
#define MPIIO_DATAREP_H

#include "spec.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/*
 * User-defined data representations (MPI 3.1, 13.7.3): shared libraries with the functions that
 * MPI_Register_datarep takes (viewspec(5) lists their names). mpiio_spec_load loads them.
 */

/* Receives reports about failing converters. Any converting thread may call it. Each report is
   one line. It is made for the first failure of a library's converter for each datatype, and
   when the error differs from the last one. */
struct mpiio_datarep_log {
    void (*report)(void *argument, const char *message);
    void *argument;
};

/*
 * The callbacks of struct vs_overrides. argument is a const struct mpiio_datarep_log, copied, or
 * NULL; its own argument must outlive the spec and its views. No other thread may use environment
 * variables meanwhile: a library that is linked to MPI initializes MPI, if necessary, as a job of
 * one process.
 */
vs_datarep_load mpiio_datarep_load;
void mpiio_datarep_unload(struct vs_user_datarep *datarep);

/*
 * Convert count elements of basic type `number` (vs_basic_number), which the representation must
 * have, from one contiguous buffer to another. Pointers need no alignment. Return 0, or -EIO if the
 * library's converter fails; then some elements may have been converted. Local, thread-safe:
 * converters are called one at a time in the process, unless the library declares them thread-safe.
 */
int mpiio_datarep_to_native(const struct vs_user_datarep *datarep, size_t number, void *native,
                            const void *file, size_t count);
int mpiio_datarep_to_file(const struct vs_user_datarep *datarep, size_t number, void *file,
                          const void *native, size_t count);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
