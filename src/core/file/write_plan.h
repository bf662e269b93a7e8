/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_WRITE_PLAN_H
#define MPIIO_WRITE_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "viewspec/map.h"
#include "file.h"
#include "range.h"

/*
 * The write plan: takes packed memory to positions of a map in the file, each run by the way that
 * costs least. Nothing is ever read to be written back, so that only the bytes that were given
 * change, whoever else writes beside them.
 *
 *   direct   a write call per run: long runs, short ones that lie far apart, and a few
 *   mapped   scattered into a shared mapping of the file, guarded (guard.h): dense short runs.
 *            Behind the end of the file space is allocated first, and large pages are made.
 *            Where the file cannot be mapped, or a page turns out not to be there (the disk is
 *            full, the file was truncated), each run is written by a call, which grows the file or
 *            tells the true error.
 *
 * The last run is always written by a call, after all else: stores through a mapping move the
 * file's times only when they are the first ones to a page, and others go by the times.
 */

/*
 * Writes length bytes from buffer to the positions [position, position + length) of map and adds
 * what was done to done, the caller's own counters. The range must lie below the map's limit, and
 * the map hold no byte of the file twice. Returns how many packed bytes are written from the first
 * on without a gap; where that is less than length, error is the negative errno, or 0 where it is
 * not known any more. After an error, bytes behind that count may be written or not.
 *
 * On return all that was written is in the page cache, and so in the file for every other process
 * of this machine. Local, thread-safe, holds no lock during I/O.
 */
size_t mpiio_write_runs(struct mpiio_file *file, const struct vs_map *map, int64_t position,
                        size_t length, const void *buffer, int *error, struct mpiio_counters *done);

/*
 * Writes count ranges of image, whose byte i belongs at displacement + i of the file. The ranges
 * ascend and do not overlap; bytes between them are neither read nor written. Returns the byte of
 * the image up to which all ranges are written: the end of the last range, or, in the range that
 * failed, how far it came, with error set to the negative errno (0: not known any more). Ranges
 * behind that may be written or not. Else as mpiio_write_runs; count may be 0, which writes nothing
 * and returns 0.
 */
int64_t mpiio_write_ranges(struct mpiio_file *file, const char *image, int64_t displacement,
                           const struct mpiio_range *ranges, size_t count, int *error,
                           struct mpiio_counters *done);

#endif
