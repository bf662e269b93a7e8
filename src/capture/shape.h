/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_SHAPE_H
#define CAPTURE_SHAPE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Which bytes of a file a process has read, or written, call by call, in bounded memory: pieces of
 * one length at one stride are kept as one progression. No MPI here. Callers exclude each other.
 */

/* count pieces of length bytes, each stride bytes behind the one before; stride is 0 where count
 * is 1. */
struct capture_progression {
    int64_t start, length, stride, count;
};

/* Zero-initialised: nothing yet. */
struct capture_extents {
    struct capture_progression *list; /* owned; those that are complete */
    size_t count, room;
    int64_t offset, length; /* the piece that may still grow; length 0: none */
    bool given_up;          /* they are too many, or memory is out */
};

/* The length bytes from offset on were accessed: both are not negative, and nor is their sum. */
void capture_extents_add(struct capture_extents *extents, int64_t offset, int64_t length);

/*
 * Sorts the list and joins what overlaps or is adjacent: then each progression ends before the next
 * begins, and pieces do not touch. What lies at limit or behind it is left out.
 */
void capture_extents_finish(struct capture_extents *extents, int64_t limit);

void capture_extents_free(struct capture_extents *extents);

/* How many pieces the progressions have together. */
int64_t capture_pieces(const struct capture_progression *list, size_t count);

/*
 * The pieces of the progressions, as progressions of one: a new array of capture_pieces() elements.
 * NULL without memory.
 */
struct capture_progression *capture_expand(const struct capture_progression *list, size_t count);

/*
 * The filetype that selects given bytes of a file, of few words: a block, vectors of vectors, what
 * repeats, or a list of blocks. No MPI here.
 */

/*
 * A view (viewspec(5)) of one tile that selects the bytes of the progressions, which are as
 * capture_extents_finish leaves them; no bytes are a view without any. The etype has size bytes,
 * and all pieces begin and end at multiples of it from the first one on. A new reference; NULL
 * where it would have too many blocks, or without memory.
 */
json_t *capture_shape(const struct capture_progression *list, size_t count, const char *etype,
                      int64_t size);

/* Whether all pieces begin and end at multiples of size bytes from the first one on. */
bool capture_shape_fits(const struct capture_progression *list, size_t count, int64_t size);

/*
 * Where the blocks and vectors that capture_shape has made of all ranks' accesses are parts of one
 * array, they become subarrays of it (MPI 3.1, 4.1.3), in place; else they stay. No MPI here.
 */
void capture_subarrays(json_t *const *views, size_t count);

#endif
