/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_GATHER_H
#define MPIIO_GATHER_H

#include <stddef.h>

/*
 * Kernels that move runs of a file's bytes into packed memory, and back.
 *
 * Short runs are moved by plain vector moves of fixed size, in line, rather than by memcpy: a call
 * per run costs more than its bytes. Longer ones are given to memcpy in parts that are too short
 * for the "rep movsb" of C libraries (and of the Linux kernel), which is on some processors five
 * times slower than moves where source and destination differ in their place within a cache line:
 * the rule when strided runs are packed. All are local and thread-safe.
 */

/*
 * Packs count runs of length bytes each: run i is read at source + i * stride and written at
 * destination + i * length. length and count may be 0; stride, in bytes, may be anything, also
 * negative or less than length. Source and destination must not overlap.
 */
void mpiio_gather(void *destination, const void *source, size_t length, size_t count,
                  ptrdiff_t stride);

/*
 * Unpacks: run i is read at source + i * length and written at destination + i * stride. No byte
 * of the destination between the runs is read or written. Else as mpiio_gather.
 */
void mpiio_scatter(void *destination, const void *source, size_t length, size_t count,
                   ptrdiff_t stride);

/* Runs in columns and rows. */
struct mpiio_gather_grid {
    size_t length;          /* of a run, in bytes */
    size_t columns, rows;   /* of runs */
    ptrdiff_t step, stride; /* bytes from a column to the next, and from a row to the next */
    ptrdiff_t pitch;        /* bytes from a column to the next in packed memory */
};

/*
 * Packs the columns one after the other: the run of row r and column c is read at source + c * step
 * + r * stride and written at destination + c * pitch + r * length. Goes over both in squares of a
 * line of the processor's cache, as one of them is read or written across its rows. Source and
 * destination must not overlap.
 */
void mpiio_gather_grid(void *destination, const void *source, const struct mpiio_gather_grid *grid);

#endif
