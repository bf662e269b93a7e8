/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_READ_PLAN_H
#define MPIIO_READ_PLAN_H

#include "file.h"
#include "source.h"

/*
 * The read plan: moves positions of a map from the file to packed memory, each run in the cheapest
 * way, unless the file has a reader that supplies all of them (reader.h).
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
 * and the end of its page. Bytes behind the end may thus be read as zeros, without a change of
 * transfer->end. The caller must compare with the file's size after the call. Local, thread-safe,
 * holds no lock during I/O.
 */
void mpiio_read_runs(struct mpiio_source *source, struct mpiio_transfer *transfer);

#endif
