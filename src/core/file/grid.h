/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_GRID_H
#define MPIIO_GRID_H

#include "batches.h"
#include "file.h"

/*
 * Columns of a file's rows: batches of as many short runs, far apart, each batch a step behind the
 * one before. So lies what is read in an order that is not the file's, as a matrix that is
 * transposed. Read column by column, each line of the processor's cache would be fetched once for
 * each column in it; read together, in squares, once. A grid belongs to one call, and so to one
 * thread.
 */
struct mpiio_grid {
    struct mpiio_batch_part first; /* column */
    int64_t step;                  /* displacement from a column to the next */
    int64_t columns;               /* 0: there is no grid */
};

/* Whether part is the grid's next column, which it then is, or begins one where there is none. */
bool mpiio_grid_take(struct mpiio_grid *grid, const struct mpiio_batch_part *part);

/* Takes a grid's first column off. */
struct mpiio_batch_part mpiio_grid_column(struct mpiio_grid *grid);

/* The displacement behind the last byte. */
int64_t mpiio_grid_end(const struct mpiio_grid *grid);

/*
 * Gathers all of a grid from mapped windows, guarded. False where it is none that pays, or cannot
 * be had so: memory may then have some of it. Thread-safe.
 */
bool mpiio_grid_read(const struct mpiio_grid *grid, struct mpiio_file *file,
                     struct mpiio_counters *done);

#endif
