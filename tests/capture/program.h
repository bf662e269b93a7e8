/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_PROGRAM_H
#define CAPTURE_PROGRAM_H

/* Functions of the programs that run under mpiio-view capture. The programs are unaware of being
   captured. Each process writes the data that it has read or written to rank<N>.view<K>. K
   counts from 1. */

#include <mpi.h>
#include <stddef.h>

extern int rank, ranks; /* of MPI_COMM_WORLD */

/* Calls MPI_Init_thread, and sets rank and ranks. */
void start(int *argc, char ***argv, int level);

/* Ends the program unless code is MPI_SUCCESS. */
void check(int code, const char *call);

/* Creates and opens the file. Fills it with bytes that all differ from their neighbours.
   Collective. */
MPI_File open_filled(const char *path, MPI_Offset bytes);

/* Opens the file with this mode. Collective in comm. */
MPI_File open_with(MPI_Comm comm, const char *path, int mode);

/* Commits the type and sets the view. */
void set_view(MPI_File file, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype);

/* Reads `tiles` tiles of the filetype from the view's start. Keeps them as view number view. */
void read_tiles(MPI_File file, MPI_Datatype filetype, int tiles, int view);

/* Writes that many tiles with bytes of this rank, and keeps them. */
void write_tiles(MPI_File file, MPI_Datatype filetype, int tiles, int view);

/* Closes the file and frees the type. */
void close_and_free(MPI_File *file, MPI_Datatype *type);

/* Writes bytes to rank<N>.view<K>. view is K. */
void keep(const void *data, size_t bytes, int view);

#endif
