/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_BATCHES_H
#define MPIIO_BATCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "viewspec/map.h"
#include "window.h"

/*
 * Batches of runs, or parts of them, that wait to be moved between packed memory and a window of
 * the file, an aligned range that may be mapped. They are collected for one window at a time. The
 * read plan and the write plan (file.h) move them in one guarded access; write-back and the pool
 * use windows of the size of a block (core/cache/block_walk.h). A set belongs to one call, and so
 * to one thread.
 */

/* Run i has its packed bytes at memory + i * length and lies at displacement + i * stride. */
struct mpiio_batch_part {
    char *memory; /* borrowed */
    int64_t displacement;
    int64_t length;
    int64_t count;
    int64_t stride;
};

#define MPIIO_BATCHES_MAX 64

struct mpiio_batches {
    struct mpiio_windows *windows; /* borrowed; NULL: nothing is mapped */
    struct mpiio_window *window;   /* the window of the parts; NULL: none, or not mapped */
    /* in bytes, a power of two: MPIIO_WINDOW_SIZE, or set by the owner if windows is NULL */
    int64_t window_size;
    int64_t window_start;     /* its displacement; -1: none yet */
    int64_t previous_end;     /* displacement after the previous run; -1: none */
    int64_t typical_distance; /* between runs, from the view's facts */
    bool stopped;             /* set by the owner: move no more parts */
    bool scatters;            /* set by the owner: copies go to the window */
    int64_t copied;           /* bytes that the last mpiio_batches_copy copied */
    /* Moves all waiting parts. The caller empties the set afterwards. */
    void (*move)(struct mpiio_batches *batches);
    int count;
    struct mpiio_batch_part part[MPIIO_BATCHES_MAX];
};

/*
 * Starts an empty set for the runs of map. If map is NULL, typical_distance is 0. Does not
 * initialize the parts, because there are many.
 */
void mpiio_batches_start(struct mpiio_batches *batches, const struct vs_map *map,
                         struct mpiio_windows *windows,
                         void (*move)(struct mpiio_batches *batches));

/*
 * Returns the distance between part's runs in bytes. For a single run, that is the distance from
 * the previous run, which mpiio_batches_passed has recorded.
 */
int64_t mpiio_batches_distance(const struct mpiio_batches *batches,
                               const struct mpiio_batch_part *part);

/* Records that the runs of batch were processed. */
void mpiio_batches_passed(struct mpiio_batches *batches, const struct vs_batch *batch);

/* Adds a part, cut at the edges of windows. Moves the waiting parts when the window changes. */
void mpiio_batches_add(struct mpiio_batches *batches, struct mpiio_batch_part part);

/* Moves the waiting parts now. */
static inline void mpiio_batches_flush(struct mpiio_batches *batches)
{
    if (batches->count > 0 && !batches->stopped)
        batches->move(batches);
    batches->count = 0;
}

/* Flushes and releases the window. */
static inline void mpiio_batches_finish(struct mpiio_batches *batches)
{
    mpiio_batches_flush(batches);
    mpiio_windows_release(batches->windows, batches->window);
}

/*
 * For the owner's move: copies all parts of a set, the argument, to or from the mapped window. Call
 * it by mpiio_guard_call. If a page is missing, some parts or runs have been copied.
 */
void mpiio_batches_copy(void *argument);

/* Sets *start and *end to the displacements of the first byte and after the last byte of the
   parts. There must be at least one part. */
void mpiio_batches_bounds(const struct mpiio_batches *batches, int64_t *start, int64_t *end);

/* Returns a part for all of batch; buffer holds the packed bytes from position on. */
struct mpiio_batch_part mpiio_batch_part_of(const struct vs_batch *batch, char *buffer,
                                            int64_t position);

/* Removes the first runs from a part. */
void mpiio_batch_part_advance(struct mpiio_batch_part *part, int64_t runs);

/* Returns the number of runs of part, from the first on, that lie entirely in [start, start +
   size). */
int64_t mpiio_batch_part_runs_inside(const struct mpiio_batch_part *part, int64_t start,
                                     int64_t size);

#endif
