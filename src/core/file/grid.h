/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_GRID_H
#define MPIIO_GRID_H

#include "batches.h"
#include "file.h"

/*
 * Columns of a file's rows: batches of equally many short runs, far apart, each batch a step behind
 * the previous one. Data that is read in an order that is not the file's has this form, such as a
 * matrix that is transposed. Reading column by column fetches each cache line once for each column
 * in it; reading the columns together, in squares, fetches it once. A grid belongs to one call, and
 * so to one thread.
 */
struct mpiio_grid {
    struct mpiio_batch_part first; /* the first column */
    int64_t step;                  /* displacement from a column to the next */
    int64_t columns;               /* 0: no grid */
};

/* Takes part as the next column, or as the first one of an empty grid. False if it does not fit. */
bool mpiio_grid_take(struct mpiio_grid *grid, const struct mpiio_batch_part *part);

/* Removes and returns a grid's first column. */
struct mpiio_batch_part mpiio_grid_column(struct mpiio_grid *grid);

/* Returns the displacement behind the last byte. */
int64_t mpiio_grid_end(const struct mpiio_grid *grid);

/*
 * Gathers all of a grid from mapped windows, guarded. Returns false if this does not pay or fails;
 * some of it may then be in memory. Thread-safe.
 */
bool mpiio_grid_read(const struct mpiio_grid *grid, struct mpiio_file *file,
                     struct mpiio_counters *done);

#endif
