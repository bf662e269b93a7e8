/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_SLICE_GAPS_H
#define MPIIO_SLICE_GAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spec.h"

/*
 * Gaps of a slice, which the buftype of its view leaves (viewspec(5)): zeros that are not in the
 * file. What the file has is read and written packed, by packed offsets (vs_view_gaps); here it is
 * put to its slice offsets, and taken from there. All functions are local and thread-safe, for
 * views with gaps only; ranges are slice offsets below the end of the last tile.
 */

/*
 * The packed bytes [start, start + count) stand at the end of a buffer of length bytes, which is to
 * have the slice from offset on: moves them to their places and clears the gaps.
 */
void mpiio_gaps_spread(const struct vs_view *view, int64_t offset, size_t length, int64_t start,
                       size_t count, char *buffer);

/* The other way: takes the packed bytes [start, start + count) out of a buffer, to packed. */
void mpiio_gaps_collect(const struct vs_view *view, int64_t offset, const char *buffer,
                        int64_t start, size_t count, char *packed);

/* Whether all gaps of the buffer, which has length bytes of the slice from offset on, are zeros. */
bool mpiio_gaps_are_clear(const struct vs_view *view, int64_t offset, size_t length,
                          const char *buffer);

/* How many packed bytes a slice of at least size > 0 bytes has. */
int64_t mpiio_gaps_needed(const struct vs_view *view, int64_t size);

/* The first gap at or behind offset, or end: where it begins, or offset where that is in one. */
int64_t mpiio_gaps_next(const struct vs_view *view, int64_t offset, int64_t end);

#endif
