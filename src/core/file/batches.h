/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_PIECES_H
#define MPIIO_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "viewspec/map.h"
#include "window.h"

/*
 * Pieces: batches of runs, or parts of them, that wait to be moved between packed memory and a
 * mapped window of the file. They are collected for one window at a time, and moved in one
 * guarded access. What reads (fetch.h) and what writes (put.h) share this. A set belongs to one
 * call, and so to one thread.
 */

/* Run i has its packed bytes at memory + i * length and lies at displacement + i * stride. */
struct mpiio_piece {
    char *memory; /* borrowed */
    int64_t displacement;
    int64_t length;
    int64_t count;
    int64_t stride;
};

#define MPIIO_PIECES_MAX 64

struct mpiio_pieces {
    struct mpiio_windows *windows; /* borrowed; NULL: nothing is mapped */
    struct mpiio_window *window;   /* of the pieces, held; NULL: none or not mapped */
    int64_t window_start;          /* of the pieces; -1: none yet */
    int64_t previous_end;          /* displacement behind the run before; -1: there is none */
    int64_t typical_distance;      /* from run to run, by the view's facts */
    bool stopped;                  /* by the owner: nothing more is to be moved */
    /* Moves all that waits; the set is emptied after it. */
    void (*move)(struct mpiio_pieces *pieces);
    int count;
    struct mpiio_piece piece[MPIIO_PIECES_MAX];
};

/*
 * Starts an empty set, for runs of map; NULL: of none, and typical_distance is 0. The pieces
 * themselves are not initialised: there are many.
 */
void mpiio_pieces_start(struct mpiio_pieces *pieces, const struct vs_map *map,
                        struct mpiio_windows *windows, void (*move)(struct mpiio_pieces *pieces));

/*
 * How far piece's runs lie from each other, in bytes: a batch knows; a single run is compared with
 * the one before it, which mpiio_pieces_passed has noted.
 */
int64_t mpiio_pieces_distance(const struct mpiio_pieces *pieces, const struct mpiio_piece *piece);

/* Notes that the runs of batch are dealt with, in whatever way. */
void mpiio_pieces_passed(struct mpiio_pieces *pieces, const struct vs_batch *batch);

/* Adds a piece, cut at the edges of windows, and moves what waits where the window changes. */
void mpiio_pieces_add(struct mpiio_pieces *pieces, struct mpiio_piece piece);

/* Moves what waits now. */
void mpiio_pieces_flush(struct mpiio_pieces *pieces);

/* Flushes and lets go of the window. */
void mpiio_pieces_finish(struct mpiio_pieces *pieces);

/*
 * For the owner's move: copies all pieces to or from the mapped window by kernel, guarded. Returns
 * the bytes moved, or -1 where the file is not mapped or a page of it was not there: then some of
 * the pieces, or parts of them, may have been moved.
 */
typedef void mpiio_pieces_kernel(char *memory, char *mapped, size_t length, size_t count,
                                 ptrdiff_t stride);
int64_t mpiio_pieces_map(struct mpiio_pieces *pieces, mpiio_pieces_kernel *kernel);

/* The displacements of the pieces' first byte and behind their last one. There is one at least. */
void mpiio_pieces_bounds(const struct mpiio_pieces *pieces, int64_t *start, int64_t *end);

/* The piece that has all of batch; buffer holds the packed bytes from position on. */
struct mpiio_piece mpiio_piece_of(const struct vs_batch *batch, char *buffer, int64_t position);

/* Takes the first runs off a piece. */
void mpiio_piece_advance(struct mpiio_piece *piece, int64_t runs);

/*
 * Cuts off the part of piece's first run that comes before the next multiple of window bytes in the
 * file, or all of it. Leaves in piece the rest of that run, of length 0 in the end; its other runs
 * are not looked at.
 */
struct mpiio_piece mpiio_piece_cut(struct mpiio_piece *piece, int64_t window);

/* How many runs of piece, from the first on, lie as a whole in [start, start + size). */
int64_t mpiio_piece_runs_inside(const struct mpiio_piece *piece, int64_t start, int64_t size);

#endif
