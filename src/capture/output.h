/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_OUTPUT_H
#define CAPTURE_OUTPUT_H

/* The spec files that the capture writes. */

#include <jansson.h>
#include <stdbool.h>

/* The folder for the specs. If it is unset or empty, each goes beside its file. */
#define CAPTURE_DIR_VARIABLE "MPIIO_CAPTURE_DIR"

/*
 * Writes the spec of the file at an absolute path, atomically. views (borrowed) is an array of one
 * view, or of several, which are named view1, view2, ... If alone is true, the ranks are processes
 * that opened the file by themselves. Replaces a spec that this process has written for the same
 * file, number of ranks and value of alone. Does not replace a spec that another process has
 * written since the program was started. Reports errors by capture_say. Thread-safe.
 */
void capture_write_spec(const char *path, int ranks, bool alone, json_t *views);

#endif
