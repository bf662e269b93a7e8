/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_CONVERT_WRITE_H
#define MPIIO_CONVERT_WRITE_H

#include "slice_private.h"

/*
 * Converts native bytes and stores them: mpiio_write_runs for slices that have a codec.
 *
 * If the bytes of an element are only reordered, each native byte goes to its own byte of the file.
 * So parts of elements are stored as they come. An element of another kind that is written in part
 * is read, changed and written back, one at a time. A lock excludes writers of whole elements
 * through this or another store, and programs that use fcntl(2) locks. The element goes past
 * write-back, unless bytes of it are dirty there (cache_write.h), because other stores may change
 * other parts of it. An element without a value in the file yet is kept with the slice's partial
 * elements until it has one.
 *
 * No thread waits for room or for a flush while it holds one of these locks. A flush may need the
 * same lock, because MPI-IO locks the bytes that it writes on some filesystems.
 */

/*
 * Writes a transfer of slice offsets, which lie below the slice's limit, like mpiio_write_runs. Its
 * bytes count the written and the kept ones. A call of up to MPIIO_CONVERT_WRITE_WHOLE bytes
 * converts all whole elements before it stores the first. If one cannot be converted, the file
 * stays as it was. Local, thread-safe.
 */
#define MPIIO_CONVERT_WRITE_WHOLE (4 << 20)

void mpiio_convert_write(struct mpiio_slice *slice, struct mpiio_transfer *transfer);

/*
 * Stores the partial element as it is, with the file's bytes where none were written, if that has a
 * value in the file. It is dropped when it can be read back as it is, or if last. Returns 0 or a
 * negative errno. Local, thread-safe.
 */
int mpiio_convert_write_partial(struct mpiio_slice *slice,
                                const struct mpiio_partial_element *partial, bool last,
                                struct mpiio_counters *done);

#endif
