/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_OUTPUT_H
#define CAPTURE_OUTPUT_H

/*
 * The output of the capture: spec files, and messages for the user who started the program.
 * Environment variables determine where they go (CAPTURE_DIR_VARIABLE, CAPTURE_LOG_VARIABLE).
 */

#include <stdbool.h>

#include <jansson.h>

/* The folder for the specs. If it is unset or empty, each goes beside its file. */
#define CAPTURE_DIR_VARIABLE "MPIIO_CAPTURE_DIR"

/*
 * A file to which lines are appended: "spec\tSPEC\tOWNER\tRANKS\tVIEWS" for each spec written,
 * "say\tTEXT" for each message, and notes. If it is not set or cannot be opened, for example on
 * another host, stderr gets the specs and the messages.
 */
#define CAPTURE_LOG_VARIABLE "MPIIO_CAPTURE_LOG"

/*
 * Notes: a process has opened a file at a path; has opened one that is deleted on close; writes a
 * spec under a temporary name, which mpiio-view removes if the process is killed meanwhile; has
 * exited.
 */
#define CAPTURE_OPENED    "opened"
#define CAPTURE_DELETED   "deleted"
#define CAPTURE_TEMPORARY "temporary"
#define CAPTURE_ENDED     "ended"

/* Reports one line to the user who started the program. Thread-safe. */
__attribute__((format(printf, 1, 2))) void capture_say(const char *format, ...);

/*
 * Appends "NOTE\tPROCESS\tPATH" to the log, if there is one. path is a file's absolute path, or "".
 * capture_opened has rejected paths with control characters: they could forge a note, and
 * mpiio-view removes temporary files by their notes. The notes tell mpiio-view what a program that
 * exited early has left unfinished. Thread-safe.
 */
void capture_note(const char *note, const char *path);

/*
 * Writes the spec of the file at an absolute path, atomically. views (borrowed) is an array of one
 * view, or of several, which are named view1, view2, ... If alone is true, the ranks are processes
 * that opened the file by themselves. Replaces a spec that this process has written for the same
 * file, number of ranks and value of alone. Does not replace a spec that another process has
 * written since the program was started. Reports errors by capture_say. Thread-safe.
 */
void capture_write_spec(const char *path, int ranks, bool alone, json_t *views);

#endif
