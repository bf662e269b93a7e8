/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_TILES_H
#define CAPTURE_TILES_H

/*
 * How many tiles of the views that were set are read and written. A view of so many tiles, where
 * the file goes on behind them, ends there: else its slices would show what is other views'.
 */

#include <stdint.h>

#include <jansson.h>

#include "files.h"
#include "steps.h"

/*
 * count elements of size bytes were accessed from an offset of the present view on, in etypes of
 * unit bytes; offset -1: nobody knows where. Local; under accesses.c's lock.
 */
void capture_tiles_reached(struct capture_file *file, int64_t offset, int64_t count, int64_t size,
                           int64_t unit);

/*
 * Collective over the file's communicator: fills in tiles and behind of its steps. They stay 0
 * where that is not known, or some rank has accessed a tile in part.
 */
void capture_tiles_count(const struct capture_file *file, struct capture_step *steps, long count);

/*
 * A view with what is known of its tiles: {"view", "tiles", "behind"}, borrowing nothing but a
 * reference of view; and what two openings of a file know of the same view: left's, which changes.
 */
json_t *capture_tiles_note(json_t *view, int64_t tiles, int64_t behind);
void capture_tiles_join(json_t *left, const json_t *right);

/* The same of views of several processes, which are one. */
void capture_tiles_agree(json_t *left, const json_t *right);

/*
 * The views of a list of such notes, in a new list, as a file of size bytes has them: with "tiles"
 * where these are known and the view goes on behind them. NULL without memory.
 */
json_t *capture_tiles_settle(const json_t *notes, int64_t size);

#endif
