/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_GATHER_H
#define CAPTURE_GATHER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "files.h"

/* The views that all ranks have set on a file, gathered at rank 0. */

/*
 * Steps. MPI_File_set_view is collective: its k-th call on a file is the k-th on every rank, and
 * the views that the ranks set in it belong together. Hashes show which of these steps differ,
 * without sending the views.
 */

struct capture_step {
    size_t index;  /* of the call */
    uint64_t hash; /* of the views that all ranks have set */
    bool common;   /* all ranks have set the same view */
    bool even;     /* all ranks have accessed the same number of tiles */
    int64_t reach; /* of this rank, over all calls that set the same view */
};

/*
 * Finds the different steps in the order of their first occurrence, except those that set the
 * default view on every rank. Collective over the file's communicator. Returns their number, and a
 * new array on every rank. The number is CAPTURE_MAX_VIEWS + 1 if there are more than
 * CAPTURE_MAX_VIEWS. Returns -1 on every rank if one cannot take part, which rank 0 reports.
 */
long capture_find_steps(const struct capture_file *file, struct capture_step **steps);

/*
 * The number of tiles that each rank has accessed through a view. If the file continues after them,
 * the view gets "tiles": without them its slices would show bytes of other views. These functions
 * do not use MPI.
 *
 * A note is {"view": VIEW, "ends": [[TILES, BEHIND], ...]}: a merged view without tiles, and the
 * end of each rank's part, or a single end if all are the same, or none. TILES is the number of
 * tiles that the rank has accessed, -1 if unknown. BEHIND is the displacement after them at which
 * its view would continue.
 */

/*
 * Records an access of count elements of size bytes at an offset of the current view, in etypes of
 * unit bytes; -1 if the offset is unknown. Under accesses.c's lock.
 */
void capture_tiles_reached(struct capture_file *file, int64_t offset, int64_t count, int64_t size,
                           int64_t unit);

/*
 * Returns new text of this rank's view in a step, as in struct capture_known, with its end. Omits
 * the view on ranks that have the same one as rank 0. NULL if memory is exhausted.
 */
char *capture_tiles_text(const struct capture_file *file, const struct capture_step *step);

/* Moves the end of a rank's view, parsed from the text of capture_tiles_text, to a list of ends. */
void capture_tiles_take(json_t *view, json_t *ends);

/* Returns a new note. Steals view; if that is NULL, the note is NULL, too. */
json_t *capture_tiles_note(json_t *view, json_t *ends);

/* Merges information on the same view from another opening of the file into a note. */
void capture_tiles_join(json_t *left, const json_t *right);

/*
 * Returns the views of a list of notes, in a new list, for a file of size bytes. Each gets tiles,
 * on the ranks where they are known, if some rank's view continues in the file after them. NULL if
 * memory is exhausted.
 */
json_t *capture_tiles_settle(const json_t *notes, int64_t size);

/*
 * The views and accesses of each file that a process has seen, from its first opening to the
 * program's end. A file may be opened again, with other views, and by several communicators.
 */

/*
 * Adds the views of an opening of a file. Called by rank 0 of the file's communicator when all
 * ranks have closed the file. views are the notes of the views that were set and could be captured;
 * was_set is false if none was set. accessed is NULL if the views show what each rank has accessed.
 * Otherwise it has the note of the view made of the accesses, or nothing if none could be made.
 * Both are borrowed. Thread-safe.
 *
 * The views join those of earlier openings by the same number of ranks, CAPTURE_MAX_VIEWS at most.
 * They are written if some opening had views that show what each rank has accessed: each time that
 * they change, or, if there are many, when their number has doubled. Other decisions wait for
 * capture_pending_text: the last of many views, views made of accesses, files without a view, and
 * files opened by one process of a larger program.
 */
void capture_pending_add(const struct capture_file *file, json_t *views, bool was_set,
                         json_t *accessed);

/*
 * Writes specs that are not up to date. Call it when all processes have closed their files. Returns
 * the remaining information, and which files have specs, as new JSON text; NULL if memory is
 * exhausted.
 */
char *capture_pending_text(void);

/*
 * Writes the remaining specs. texts has the results of capture_pending_text of all processes of the
 * program, in rank order, each with its terminator.
 */
void capture_pending_write(const char *texts, int ranks);

#endif
