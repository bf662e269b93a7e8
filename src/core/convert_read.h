/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_CONVERT_READ_H
#define MPIIO_CONVERT_READ_H

#include "core/file/read_plan.h"
#include "slice_private.h"

/*
 * Reads a transfer of slice offsets, which lie below the slice's limit, and converts the bytes to
 * native: mpiio_read_runs for slices that have a codec. While the slice has partial elements, it
 * and threads that store them exclude each other. Otherwise it holds no lock during I/O. Local,
 * thread-safe.
 */
void mpiio_convert_read(struct mpiio_slice *slice, struct mpiio_transfer *transfer);

/*
 * Reads one element of the file into file, with zeros behind the file's end, and converts it into
 * native. If it cannot be converted, sets readable to false and native to zeros. Returns 0 or a
 * negative errno. Uses no partial element and takes no lock. Local, thread-safe.
 */
int mpiio_convert_read_element(struct mpiio_slice *slice, const struct mpiio_element *element,
                               void *file, unsigned char *native, bool *readable,
                               struct mpiio_counters *done);

#endif
