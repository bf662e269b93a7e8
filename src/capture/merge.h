/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_MERGE_H
#define CAPTURE_MERGE_H

/* Merging the views of single ranks into one. Does not use MPI. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

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

#endif
