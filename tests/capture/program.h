/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_PROGRAM_H
#define CAPTURE_PROGRAM_H

/* Functions of the programs that run under mpiio-view capture. The programs do not know that they
   are watched. Each process leaves the data that it has read or written in rank<N>.view<K>, K
   counting from 1. */

#include <mpi.h>
#include <stddef.h>

extern int rank, ranks; /* of MPI_COMM_WORLD */

/* MPI_Init_thread, rank, ranks. */
void start(int *argc, char ***argv, int level);

/* Ends the program where code is not MPI_SUCCESS. */
void check(int code, const char *call);

/* Collective: opens the file, new and filled with bytes that all differ from their neighbours. */
MPI_File open_filled(const char *path, MPI_Offset bytes);

/* Commits the type and sets the view. */
void set_view(MPI_File file, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype);

/* Reads `tiles` tiles of the filetype from the view's start, and keeps them as view number view. */
void read_tiles(MPI_File file, MPI_Datatype filetype, int tiles, int view);

/* Writes them, with bytes of the rank's own. */
void write_tiles(MPI_File file, MPI_Datatype filetype, int tiles, int view);

/* Leaves bytes in rank<N>.view<K>. */
void keep(const void *data, size_t bytes, int view);

#endif
