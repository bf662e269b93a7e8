/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_SHAPE_H
#define CAPTURE_SHAPE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The bytes that a process has read or written, call by call, in bounded memory. Pieces of one
 * length at one stride are kept as one progression. This source does not use MPI. Callers must
 * serialize calls.
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
 * list, or a list of blocks. This source does not use MPI.
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
 * of one array (MPI 3.1, 4.1.3), in place. Does nothing if they are not parts of one array. Does
 * not use MPI.
 */
void capture_subarrays(json_t *const *views, size_t count);

#endif
