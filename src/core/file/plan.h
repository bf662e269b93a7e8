/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_PLAN_H
#define MPIIO_PLAN_H

#include "file.h"
#include "source.h"

/*
 * The read plan: moves positions of a map from the file to packed memory, each run in the cheapest
 * way, unless the file has a reader that supplies all of them (source.h).
 *
 *   direct   a read call per run: long runs, and short ones that lie far apart
 *   mapped   gathered from windows of the file (window.h), guarded (guard.h): dense runs
 *   blocks   gathered from blocks of at most 256 KiB that are read into memory: for short requests,
 *            if the file cannot be mapped, if new windows cost more than they save, or if a mapped
 *            page was missing. Runs with large gaps between them are read by calls in this case, if
 *            they are in the page cache.
 */

/*
 * Reads a transfer from source, a struct mpiio_file. A mapping shows zeros between the file's end
 * and the end of its page. So bytes after the end may be read as zeros, and transfer->end does not
 * show that. The caller must compare with the file's size after the call. Local, thread-safe, holds
 * no lock during I/O.
 */
void mpiio_read_runs(struct mpiio_source *source, struct mpiio_transfer *transfer);

/*
 * The write plan: moves packed memory to positions of a map in the file, each run in the cheapest
 * way. It never reads data to write it back, so that only the written bytes change, even if others
 * write adjacent bytes.
 *
 *   direct   a write call per run: long runs, short ones that lie far apart, and a few
 *   mapped   scattered into a shared mapping of the file, guarded (guard.h): dense short runs.
 *            After the end of the file, space is allocated and large pages are made first.
 *            Not used if clients have their own page caches (file.h, coherence): they write
 *            back whole pages, including stale bytes beside the runs.
 *            If the file cannot be mapped, or a page is missing (the disk is full, the file was
 *            truncated), each run is written by a call, which extends the file or returns the
 *            actual error.
 *
 * The last run is always written by a call, after all others. Stores through a mapping update the
 * file's times only if they are the first ones to a page, and other programs rely on the times.
 */

/*
 * Writes a transfer to source, a struct mpiio_file of a descriptor. The map must not contain a byte
 * of the file twice. If fewer bytes are written than the transfer's length, error is the negative
 * errno, or 0 if that is not known. After an error, bytes after that count may or may not be
 * written.
 *
 * On return all written data is in the page cache, and so visible to every other process of this
 * machine. Local, thread-safe, holds no lock during I/O.
 */
void mpiio_write_runs(struct mpiio_source *source, struct mpiio_transfer *transfer);

/*
 * Writes the transfer's ranges. They ascend and do not overlap. There may be none. Bytes between
 * them are neither read nor written. Sets bytes to the byte of the buffer up to which all ranges
 * are written: the end of the last range or, after an error, the progress in the range that failed.
 * Later ranges may or may not be written. Otherwise like mpiio_write_runs.
 */
void mpiio_write_ranges(struct mpiio_file *file, struct mpiio_transfer *transfer);

#endif
