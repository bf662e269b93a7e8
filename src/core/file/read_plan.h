/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_READ_PLAN_H
#define MPIIO_READ_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "viewspec/map.h"
#include "file.h"

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

/* The result of a fetch. */
struct mpiio_read_result {
    size_t bytes; /* packed bytes read, from the first on without a gap */
    int64_t end;  /* lowest displacement at which the file was seen to end; INT64_MAX: none */
    int error;    /* the reason for fewer bytes: 0 (the file ends) or a negative errno */
};

/*
 * Reads the bytes at positions [position, position + length) of map into buffer and adds its counts
 * to done, the caller's own counters. The range must lie below the map's limit.
 *
 * A mapping shows zeros between the file's end and the end of its page. Bytes behind the end may
 * thus be read as zeros, without a change of fetched->end: the caller must compare with the file's
 * size after the call. Local, thread-safe, holds no lock during I/O.
 */
void mpiio_read_runs(struct mpiio_file *file, const struct vs_map *map, int64_t position,
                     size_t length, void *buffer, struct mpiio_read_result *fetched,
                     struct mpiio_counters *done);

#endif
