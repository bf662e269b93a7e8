/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_BATCHES_H
#define MPIIO_BATCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "viewspec/map.h"
#include "window.h"

/*
 * Batches of runs, or parts of them, that wait to be moved between packed memory and a
 * mapped window of the file. They are collected for one window at a time, and moved in one
 * guarded access. What reads (read_plan.h) and what writes (write_plan.h) share this. A set belongs
 * to one call, and so to one thread.
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
    struct mpiio_window *window;   /* of the parts, held; NULL: none or not mapped */
    int64_t window_start;          /* of the parts; -1: none yet */
    int64_t previous_end;          /* displacement behind the run before; -1: there is none */
    int64_t typical_distance;      /* from run to run, by the view's facts */
    bool stopped;                  /* by the owner: nothing more is to be moved */
    /* Moves all that waits; the set is emptied after it. */
    void (*move)(struct mpiio_batches *batches);
    int count;
    struct mpiio_batch_part part[MPIIO_BATCHES_MAX];
};

/*
 * Starts an empty set, for runs of map; NULL: of none, and typical_distance is 0. The parts
 * themselves are not initialised: there are many.
 */
void mpiio_batches_start(struct mpiio_batches *batches, const struct vs_map *map,
                         struct mpiio_windows *windows,
                         void (*move)(struct mpiio_batches *batches));

/*
 * How far part's runs lie from each other, in bytes: a batch knows; a single run is compared with
 * the one before it, which mpiio_batches_passed has noted.
 */
int64_t mpiio_batches_distance(const struct mpiio_batches *batches,
                               const struct mpiio_batch_part *part);

/* Notes that the runs of batch are dealt with, in whatever way. */
void mpiio_batches_passed(struct mpiio_batches *batches, const struct vs_batch *batch);

/* Adds a part, cut at the edges of windows, and moves what waits where the window changes. */
void mpiio_batches_add(struct mpiio_batches *batches, struct mpiio_batch_part part);

/* Moves what waits now. */
void mpiio_batches_flush(struct mpiio_batches *batches);

/* Flushes and lets go of the window. */
void mpiio_batches_finish(struct mpiio_batches *batches);

/*
 * For the owner's move: copies all parts to or from the mapped window by kernel, guarded. Returns
 * the bytes moved, or -1 where the file is not mapped or a page of it was not there: then some of
 * the parts, or some of their runs, may have been moved.
 */
typedef void mpiio_batches_kernel(char *memory, char *mapped, size_t length, size_t count,
                                  ptrdiff_t stride);
int64_t mpiio_batches_map(struct mpiio_batches *batches, mpiio_batches_kernel *kernel);

/* The displacements of the parts' first byte and behind their last one. There is one at least. */
void mpiio_batches_bounds(const struct mpiio_batches *batches, int64_t *start, int64_t *end);

/* The part that has all of batch; buffer holds the packed bytes from position on. */
struct mpiio_batch_part mpiio_batch_part_of(const struct vs_batch *batch, char *buffer,
                                            int64_t position);

/* Takes the first runs off a part. */
void mpiio_batch_part_advance(struct mpiio_batch_part *part, int64_t runs);

/*
 * Cuts off what of part's first run comes before the next multiple of window bytes in the
 * file, or all of it. Leaves in part the rest of that run, of length 0 in the end; its other runs
 * are not looked at.
 */
struct mpiio_batch_part mpiio_batch_part_cut(struct mpiio_batch_part *part, int64_t window);

/* How many runs of part, from the first on, lie as a whole in [start, start + size). */
int64_t mpiio_batch_part_runs_inside(const struct mpiio_batch_part *part, int64_t start,
                                     int64_t size);

#endif
