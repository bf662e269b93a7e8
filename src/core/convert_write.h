/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_CONVERT_WRITE_H
#define MPIIO_CONVERT_WRITE_H

#include "slice_private.h"

/*
 * Converts native bytes and stores them: mpiio_write_runs for slices that have a codec.
 *
 * Where the bytes of an element are only reordered each native byte goes to its own byte of the
 * file, so that parts of elements are stored as they come. An element of another kind that is
 * given in part is read, changed and written back: alone, and locked against all who write whole
 * elements through this store or another one, and against programs that use fcntl(2) locks. It goes
 * past write-back, unless that has it already (cache.h): other stores do the same with other parts.
 * One that has no value in the file yet is kept with the slice's partial elements until it has.
 *
 * Nobody waits for room or for a flush with one of these locks held: who stores what is dirty may
 * need it, as MPI-IO locks what it writes on some filesystems.
 */

/*
 * Writes a transfer of slice offsets, which lie below the slice's limit, as mpiio_write_runs does;
 * bytes are written, or kept. Whole elements are all converted before the first of them is stored,
 * in a call of up to MPIIO_CONVERT_WRITE_WHOLE bytes: one that cannot be leaves the file as it was.
 * Local, thread-safe.
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
