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
 * Called by rank 0 of a file's communicator when all ranks have closed the file. Adds its views
 * (borrowed, those that could be captured) to those of earlier openings by as many ranks,
 * CAPTURE_MAX_VIEWS at most. Writes the spec if there are new views; if there are many, only when
 * their number has doubled, and otherwise in capture_pending_text. These wait for
 * capture_pending_text: the views of a communicator of one process in a larger program, files
 * without a view, and views made of accesses, which are written if no view is set later.
 * Thread-safe.
 */
void capture_pending_add(const struct capture_file *file, json_t *views, bool was_set);

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
