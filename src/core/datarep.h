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
 * MPI_Register_datarep takes (viewspec(5) tells their names). mpiio_spec_load loads them.
 */

/* The recipient of reports about failing converters, called by any thread that converts. A report
   is one line: for the first failure of a library's converter for each datatype, and for failures
   with a different error than the last. */
struct mpiio_datarep_log {
    void (*report)(void *argument, const char *message);
    void *argument;
};

/*
 * The hooks of struct vs_overrides. argument is a const struct mpiio_datarep_log, copied, or NULL;
 * what it refers to must outlive the spec and its views. Not while other threads use environment
 * variables: a library that is linked to MPI initialises it, if it was not, as a job of one.
 */
vs_datarep_load mpiio_datarep_load;
void mpiio_datarep_unload(struct vs_user_datarep *datarep);

/*
 * Convert count elements of basic type `number` (vs_basic_number), which the representation has,
 * from one contiguous buffer to another; no pointer needs to be aligned. -EIO where the library's
 * converter fails: some elements may have been converted then. Local and thread-safe: converters
 * are called one at a time in the process, but those of libraries that say they are thread-safe.
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
