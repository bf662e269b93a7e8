/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_MERGE_H
#define CAPTURE_MERGE_H

/* One view of the views that single ranks have. No MPI here. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/*
 * The view (viewspec(5), VIEWS) whose rank i has views[i], objects as capture_view_text writes
 * them: what is alike stands once, integers that follow the rank by a rule are expressions of it,
 * what differs otherwise is in per_rank. A new reference; NULL without memory.
 */
json_t *capture_merge(json_t *const *views, size_t count);

/*
 * A copy of a merged view with "tiles": tiles has the number of each rank, or one for all ranks; a
 * rank with a negative number gets none. A new reference; NULL without memory.
 */
json_t *capture_merge_tiles(const json_t *view, const json_t *tiles);

/*
 * An expression of "rank" for the values of ranks 0 .. count - 1 in text (of size bytes): sums of
 * steps along the dimensions of a grid of ranks, such as "100 + rank*8" or "rank/4*32 + rank%4*8".
 * False where there is no such rule.
 */
bool capture_expression(const int64_t *values, size_t count, char *text, size_t size);

#endif
