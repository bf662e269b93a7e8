/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_GATHER_H
#define CAPTURE_GATHER_H

#include <jansson.h>
#include <stdbool.h>

#include "files.h"

/* The views that all ranks have set on a file, gathered at rank 0. */

/*
 * Collective over the file's communicator, after MPI_File_close. Rank 0 merges the views and writes
 * the spec. Files that a single process has opened, and files without a view, wait for
 * capture_gather_pending. The file remains the caller's.
 */
void capture_gather(struct capture_file *file);

/*
 * Collective over MPI_COMM_WORLD, before MPI_Finalize: writes the specs of files that single
 * processes have opened, as views of the ranks of MPI_COMM_WORLD, and of files that have no view.
 */
void capture_gather_pending(void);

/*
 * The views and accesses of each file that a process has seen, from its first opening to the
 * program's end. A file may be opened again, with other views, and by several communicators.
 */

/*
 * Adds the views of an opening of a file. Called by rank 0 of the file's communicator when all
 * ranks have closed the file. views are the notes (steps.h) of the views that were set and could be
 * captured; was_set is false if none was set. accessed is NULL if the views show what each rank has
 * accessed. Otherwise it has the note of the view made of the accesses, or nothing if none could be
 * made. Both are borrowed. Thread-safe.
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
