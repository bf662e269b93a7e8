/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_GATHER_H
#define CAPTURE_GATHER_H

/* What all ranks have set on a file, brought together. */

#include "files.h"

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

#endif
