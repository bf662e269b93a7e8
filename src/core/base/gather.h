/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_GATHER_H
#define MPIIO_GATHER_H

#include <stddef.h>

/*
 * Kernels that move runs of a file's bytes into packed memory, and back.
 *
 * Short runs are moved by inlined vector moves of fixed size, because a call of memcpy per run
 * costs more than moving its bytes. Longer runs are passed to memcpy in parts that are too short
 * for the "rep movsb" of C libraries (and of the Linux kernel). On some processors that is five
 * times slower than moves if source and destination differ in their offset within a cache line,
 * which is the rule when strided runs are packed. All functions are local and thread-safe.
 */

/*
 * Packs count runs of length bytes each: run i is read at source + i * stride and written at
 * destination + i * length. length and count may be 0; stride, in bytes, may have any value, also
 * negative or less than length. Source and destination must not overlap.
 */
void mpiio_gather(void *destination, const void *source, size_t length, size_t count,
                  ptrdiff_t stride);

/*
 * Unpacks count runs: run i is read at source + i * length and written at destination + i * stride.
 * Bytes of the destination between the runs are neither read nor written. Otherwise like
 * mpiio_gather.
 */
void mpiio_scatter(void *destination, const void *source, size_t length, size_t count,
                   ptrdiff_t stride);

/* Runs in a grid of columns and rows. */
struct mpiio_gather_grid {
    size_t length;          /* of a run, in bytes */
    size_t columns, rows;   /* of runs */
    ptrdiff_t step, stride; /* bytes from a column to the next, and from a row to the next */
    ptrdiff_t pitch;        /* bytes from a column to the next in packed memory */
};

/*
 * Packs the columns one after the other: the run of row r and column c is read at source + c * step
 * + r * stride and written at destination + c * pitch + r * length. It proceeds in squares of a
 * cache line, because either the source or the destination is accessed across its rows. Source and
 * destination must not overlap.
 */
void mpiio_gather_grid(void *destination, const void *source, const struct mpiio_gather_grid *grid);

#endif
