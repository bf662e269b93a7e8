/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_CONVERT_READ_H
#define MPIIO_CONVERT_READ_H

#include "core/file/read_plan.h"
#include "slice_private.h"

/*
 * Reads a transfer of slice offsets, which lie below the slice's limit, and converts the bytes to
 * native: mpiio_read_runs for slices that have a codec. Where the slice has partial elements it
 * waits for those who store them, and they for it; else it holds no lock during I/O. Local,
 * thread-safe.
 */
void mpiio_convert_read(struct mpiio_slice *slice, struct mpiio_transfer *transfer);

/*
 * Reads one element as the file has it, into file and, converted, into native: zeros behind the
 * end, and in native where it cannot be converted, which readable tells. 0 or a negative errno.
 * Looks at no partial element and takes no lock. Local, thread-safe.
 */
int mpiio_convert_read_element(struct mpiio_slice *slice, const struct mpiio_element *element,
                               void *file, unsigned char *native, bool *readable,
                               struct mpiio_counters *done);

#endif
