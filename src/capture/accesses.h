/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_ACCESSES_H
#define CAPTURE_ACCESSES_H

/*
 * What programs read and write that set no view, or one view of all bytes for all ranks: what each
 * rank has accessed becomes its view. Thread-safe.
 */

#include "files.h"

/* After capture_view_set of a view with that etype, which is borrowed. Local. */
void capture_accesses_view_set(MPI_File handle, MPI_Datatype etype);

/* Where the individual file pointer is, in etypes; -1 where that is not known. Local. */
int64_t capture_accesses_position(MPI_File handle);

/*
 * count elements of a type, which is borrowed, were read or written, or will be, from an offset of
 * the view on, in etypes; -1: nobody knows where. Local.
 */
void capture_accesses_add(MPI_File handle, bool writing, int64_t offset, int64_t count,
                          MPI_Datatype type);

/* Something was read or written at the shared file pointer: nobody knows where. Local. */
void capture_accesses_lose(MPI_File handle);

/*
 * Collective over the file's communicator, for a file that was taken and closed. Returns false on
 * all ranks if the views that were set tell what each rank has accessed, or nothing was accessed.
 * Otherwise *text is this rank's view, made of what was written, or read if no rank has written
 * anything: JSON as capture_view_text writes it, or "!" and why there is none; new, NULL without
 * memory.
 */
bool capture_accesses_view(struct capture_file *file, char **text);

#endif
