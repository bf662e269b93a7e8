/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_PENDING_H
#define CAPTURE_PENDING_H

/*
 * What a process has seen of each file, from its first opening to the program's end. A file may be
 * opened again, with other views, and by several communicators.
 */

#include <stdbool.h>

#include <jansson.h>

#include "files.h"

/*
 * Called by rank 0 of a file's communicator when all ranks have closed the file. views are the
 * notes (tiles.h) of those views that could be captured, of those that were set, if any was set.
 * accessed is NULL if they tell what each rank has accessed, and otherwise a list of the note of
 * the view made of the accesses, empty if none could be made. Both are borrowed. Thread-safe.
 *
 * Views are added to those of earlier openings by as many ranks, CAPTURE_MAX_VIEWS at most. Views
 * that were set are written unless there is only accessed, from all openings. The spec is written
 * if it has new views; if there are many, only when their number has doubled, and otherwise in
 * capture_pending_text. What is known only at the end waits for capture_pending_text: views made of
 * accesses, files without a view, and files opened by one process of a larger program.
 */
void capture_pending_add(const struct capture_file *file, json_t *views, bool was_set,
                         json_t *accessed);

/*
 * Called when all processes have closed their files. Writes specs that are not up to date. Returns
 * what else waits, and which files have specs, as JSON text: new, NULL without memory.
 */
char *capture_pending_text(void);

/*
 * Writes the specs of what waited: texts are those of capture_pending_text of all the program's
 * processes in the order of their ranks, one behind the other with their terminators.
 */
void capture_pending_write(const char *texts, int ranks);

#endif
