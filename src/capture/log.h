/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_LOG_H
#define CAPTURE_LOG_H

/* The log: messages for the user who started the program, and notes for mpiio-view. */

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

#include <stdbool.h>
#include <stddef.h>

/* Reports one line to the user who started the program. Thread-safe. */
__attribute__((format(printf, 1, 2))) void capture_say(const char *format, ...);

/*
 * Appends "NOTE\tPROCESS\tPATH" to the log, if there is one. path is a file's absolute path, or "".
 * capture_opened has rejected paths with control characters: they could forge a note, and
 * mpiio-view removes temporary files by their notes. The notes tell mpiio-view what a program that
 * exited early has left unfinished. Thread-safe.
 */
void capture_note(const char *note, const char *path);

/* Opens the log for reading and appending. Returns -1 if there is none that may be written. */
int capture_log_open(void);

/* Appends a line to the log. Returns false on failure. */
bool capture_log_append(int log, const char *line);

/* Prints a line on stderr. */
__attribute__((format(printf, 1, 2))) void capture_say_aloud(const char *format, ...);

/* Describes this process, as HOST:PID. */
void capture_process(char *text, size_t size);

#endif
