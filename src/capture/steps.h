/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_STEPS_H
#define CAPTURE_STEPS_H

#include <jansson.h>
#include <stdint.h>

#include "files.h"

/*
 * MPI_File_set_view is collective: its k-th call on a file is the k-th on every rank, and the
 * views that the ranks set in it belong together. Which of these steps differ is found by hashes,
 * without sending the views.
 */

struct capture_step {
    size_t index;  /* of the call */
    uint64_t hash; /* of what all ranks have set */
    bool common;   /* all ranks have set the same */
    bool even;     /* all ranks have accessed as many tiles */
    int64_t reach; /* of this rank, in all calls that set the same */
};

/*
 * Collective over the file's communicator. The different steps in the order of their first
 * occurrence, without those that set the default view on every rank: their number, and a new array
 * on every rank. The number is CAPTURE_MAX_VIEWS + 1 if there are more than CAPTURE_MAX_VIEWS. -1
 * on every rank if one could not join, which rank 0 says.
 */
long capture_find_steps(const struct capture_file *file, struct capture_step **steps);

/*
 * The number of tiles that each rank has accessed through a view. If the file goes on behind them,
 * the view gets "tiles": without them its slices would show bytes of other views. No MPI calls.
 *
 * A note is {"view": VIEW, "ends": [[TILES, BEHIND], ...]}: a merged view without tiles, and the
 * end of each rank's part, or one end if it is the same on all ranks, or none. TILES is the number
 * of tiles that the rank has accessed, -1 if it is not known; BEHIND is the displacement behind
 * them at which its view would go on.
 */

/*
 * Called when count elements of size bytes were accessed at an offset of the current view, in
 * etypes of unit bytes; -1 if the offset is not known. Under accesses.c's lock.
 */
void capture_tiles_reached(struct capture_file *file, int64_t offset, int64_t count, int64_t size,
                           int64_t unit);

/* The farther of two values of capture_view_call.reach; -1 if one is not known. */
int64_t capture_tiles_farther(int64_t left, int64_t right);

/*
 * This rank's view in a step, as struct capture_known has it, with its end; without the view on
 * ranks that have the same as rank 0. New; NULL without memory.
 */
char *capture_tiles_text(const struct capture_file *file, const struct capture_step *step);

/* Moves the end of a rank's view, parsed from that text, to a list of ends. */
void capture_tiles_take(json_t *view, json_t *ends);

/* A new note. Steals view, which may be NULL, and then so is the note. */
json_t *capture_tiles_note(json_t *view, json_t *ends);

/* Adds to a note what is known of the same view from another opening of the file. */
void capture_tiles_join(json_t *left, const json_t *right);

/*
 * The views of a list of notes, in a new list, for a file of size bytes. Each gets tiles, on the
 * ranks where they are known, if some rank's view goes on in the file behind them. NULL without
 * memory.
 */
json_t *capture_tiles_settle(const json_t *notes, int64_t size);

#endif
