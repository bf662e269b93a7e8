/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_TEXTS_H
#define CAPTURE_TEXTS_H

#include <stdint.h>

#include <mpi.h>

/*
 * Collective. Brings each rank's text (terminated, borrowed) to rank 0, one behind the other with
 * their terminators, in rank order: *texts there is the caller's to free(), NULL elsewhere. 0, or
 * on all ranks -1: they are more than *room bytes together, or memory is out. Takes what they are
 * from *room, which counts on rank 0.
 */
int capture_gather_texts(MPI_Comm comm, int rank, int ranks, const char *text, int64_t *room,
                         char **texts);

#endif
