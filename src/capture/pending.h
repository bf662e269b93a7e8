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
 * Rank 0 of a file's communicator closes it: its views (borrowed, those that could be captured)
 * join those of earlier openings by as many ranks, CAPTURE_MAX_VIEWS at most, and the spec is
 * written where that is news, once there are many when they are twice as many, and else by
 * capture_pending_text. A communicator of one process in a larger program waits for
 * capture_pending_text, and so do a file without a view, and views that nobody has set, which are
 * written where nobody sets one later. Thread-safe.
 */
void capture_pending_add(const struct capture_file *file, json_t *views, bool was_set);

/*
 * What waits, and which files have specs, as JSON text: new, NULL without memory. Specs of which
 * a later part waits are written.
 */
char *capture_pending_text(void);

/*
 * Writes the specs of what waited: texts are those of capture_pending_text of all the program's
 * processes in the order of their ranks, one behind the other with their terminators.
 */
void capture_pending_write(const char *texts, int ranks);

#endif
