/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_VIEWS_H
#define CAPTURE_VIEWS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Views as JSON: made from the bytes that a process accesses, merged from those of all ranks, and
 * written to a spec. Nothing here uses MPI.
 */

/*
 * The bytes that a process has read or written, call by call, in bounded memory. Pieces of one
 * length at one stride are kept as one progression. Callers must serialize calls.
 */

/* count pieces of length bytes at a distance of stride bytes; stride is 0 if count is 1. */
struct capture_progression {
    int64_t start, length, stride, count;
};

/* Zero-initialized: nothing was accessed yet. */
struct capture_extents {
    struct capture_progression *list; /* the completed progressions; owned */
    size_t count, room;
    int64_t offset, length; /* the piece that may still grow; length 0: none */
    bool given_up;          /* there are too many, or memory is exhausted */
};

/* Records an access of length bytes from offset on. Both must be non-negative, as must their
   sum. */
void capture_extents_add(struct capture_extents *extents, int64_t offset, int64_t length);

/*
 * Sorts the list and joins everything that overlaps or is adjacent. After that each progression
 * ends before the next begins, and pieces do not touch. Removes all bytes at or after limit.
 */
void capture_extents_finish(struct capture_extents *extents, int64_t limit);

void capture_extents_free(struct capture_extents *extents);

/* Returns the total number of pieces in the progressions. */
int64_t capture_pieces(const struct capture_progression *list, size_t count);

/*
 * Returns the pieces as a new array of capture_pieces() progressions of one piece. NULL if memory
 * is exhausted.
 */
struct capture_progression *capture_expand(const struct capture_progression *list, size_t count);

/*
 * A compact filetype that selects given bytes of a file: a block, vectors of vectors, a repeated
 * list, or a list of blocks.
 */

/*
 * Returns a view (viewspec(5)) of one tile that selects the bytes of the progressions, which must
 * be the result of capture_extents_finish. Without progressions the view is empty. The etype has
 * size bytes; all pieces begin and end at multiples of it, counted from the first one. A new
 * reference; NULL if it would have too many blocks, or memory is exhausted.
 */
json_t *capture_shape(const struct capture_progression *list, size_t count, const char *etype,
                      int64_t size);

/* Returns true if all pieces begin and end at multiples of size bytes, counted from the first
   one. */
bool capture_shape_fits(const struct capture_progression *list, size_t count, int64_t size);

/*
 * Converts the blocks and vectors that capture_shape has made of all ranks' accesses to subarrays
 * of one array (MPI 3.1, 4.1.3), in place. Does nothing if they are not parts of one array.
 */
void capture_subarrays(json_t *const *views, size_t count);

/* Merging the views of single ranks into one. */

/*
 * Merges views into the view (viewspec(5), VIEWS) whose rank i has views[i], objects of
 * capture_view_text. Values that all ranks share are stored once. Integers that follow the rank by
 * a rule become expressions of it. Everything else goes into per_rank. Returns a new reference;
 * NULL if memory is exhausted.
 */
json_t *capture_merge(json_t *const *views, size_t count);

/*
 * Returns a copy of a merged view with "tiles". tiles has a number for each rank, or one for all
 * ranks; a rank with a negative number gets none. A new reference; NULL if memory is exhausted.
 */
json_t *capture_merge_tiles(const json_t *view, const json_t *tiles);

/*
 * Finds an expression of "rank" for the values of ranks 0 .. count - 1: sums of steps along the
 * dimensions of a grid of ranks, such as "100 + rank*8" or "rank/4*32 + rank%4*8". Stores it in
 * text (of size bytes). Returns false if there is none.
 */
bool capture_expression(const int64_t *values, size_t count, char *text, size_t size);

/* The spec files. */

/* The folder for the specs. If it is unset or empty, each goes beside its file. */
#define CAPTURE_DIR_VARIABLE "MPIIO_CAPTURE_DIR"

/*
 * Writes the spec of the file at an absolute path, atomically. views (borrowed) is an array of one
 * view, or of several, which are named view1, view2, ... If alone is true, the ranks are processes
 * that opened the file by themselves. Replaces a spec that this process has written for the same
 * file, number of ranks and value of alone. Does not replace a spec that another process has
 * written since the program was started. Reports errors by capture_say. Thread-safe.
 */
void capture_write_spec(const char *path, int ranks, bool alone, json_t *views);

#endif
