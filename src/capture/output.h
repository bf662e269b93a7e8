/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_OUTPUT_H
#define CAPTURE_OUTPUT_H

/*
 * What the capture leaves behind: spec files, and lines for whoever started the program. The
 * environment says where (CAPTURE_DIR_VARIABLE, CAPTURE_LOG_VARIABLE).
 */

#include <stdbool.h>

#include <jansson.h>

/* The folder for the specs; unset or empty: each goes beside its file. */
#define CAPTURE_DIR_VARIABLE "MPIIO_CAPTURE_DIR"

/*
 * A file to which lines are appended: "spec\tSPEC\tOWNER\tRANKS\tVIEWS" for each spec written,
 * "say\tTEXT" for each message, and notes. Where it is not set or cannot be opened, on another host
 * say, stderr gets the specs and the messages.
 */
#define CAPTURE_LOG_VARIABLE "MPIIO_CAPTURE_LOG"

/*
 * Notes: a process has opened a file at a path, or one that is deleted when it is closed; it writes
 * a spec under a temporary name, which mpiio-view removes if the process is killed meanwhile; it
 * has ended.
 */
#define CAPTURE_OPENED    "opened"
#define CAPTURE_DELETED   "deleted"
#define CAPTURE_TEMPORARY "temporary"
#define CAPTURE_ENDED     "ended"

/* One line to whoever started the program. Thread-safe. */
__attribute__((format(printf, 1, 2))) void capture_say(const char *format, ...);

/*
 * Appends "NOTE\tPROCESS\tPATH" to the log, if there is one. path is a file's absolute path, or "".
 * A path with control characters has been refused before (capture_opened): it could forge a note,
 * and mpiio-view removes temporary files by their notes. The notes show mpiio-view what a program
 * that ended early has left undone. Thread-safe.
 */
void capture_note(const char *note, const char *path);

/*
 * Writes the spec of the file at an absolute path, atomically. views (borrowed) is an array of one
 * view, or several, which get the names view1, view2, ... alone: the ranks are processes that
 * opened the file by themselves. Replaces what this process wrote before for the same file, as many
 * ranks and the same value of alone, but no spec that another process has written since the program
 * was started. Reports errors by capture_say. Thread-safe.
 */
void capture_write_spec(const char *path, int ranks, bool alone, json_t *views);

#endif
