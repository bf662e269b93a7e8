/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_READ_PLAN_H
#define MPIIO_READ_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "viewspec/map.h"
#include "file.h"

/*
 * The read plan: takes positions of a map from the file into packed memory, each run by the way
 * that costs least, unless the file has a reader that has them all (reader.h).
 *
 *   direct   a read call per run: long runs, and short ones that lie far apart
 *   mapped   gathered from windows of the file (window.h), guarded (guard.h): dense runs
 *   blocks   as mapped, but from blocks of at most 256 KiB that are read into memory: for short
 *            requests, where the file cannot be mapped, where new windows cost more than they
 *            bring, and where a mapped page turned out not to be there. Runs that have much between
 *            them, and are in the page cache, are read by calls then.
 */

/* What came of a fetch. */
struct mpiio_read_result {
    size_t bytes; /* packed bytes that are there, from the first on without a gap */
    int64_t end;  /* lowest displacement at which the file was seen to end; INT64_MAX: none */
    int error;    /* why bytes is less than asked for: 0 (the file ends) or a negative errno */
};

/*
 * Reads the bytes at positions [position, position + length) of map into buffer and adds what was
 * done to done, the caller's own counters. The range must lie below the map's limit.
 *
 * A mapping shows zeros between the file's end and the end of its page: bytes behind the end may
 * thus come as zeros, without mention in fetched->end. The caller compares with the file's size
 * after the call. Local, thread-safe, holds no lock during I/O.
 */
void mpiio_read_runs(struct mpiio_file *file, const struct vs_map *map, int64_t position,
                     size_t length, void *buffer, struct mpiio_read_result *fetched,
                     struct mpiio_counters *done);

#endif
