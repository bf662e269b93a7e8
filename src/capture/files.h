/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_FILES_H
#define CAPTURE_FILES_H

/*
 * The MPI files that the process has open and the views set on them. All functions are
 * thread-safe; what is collective over the file's communicator says so, and is called where MPI's
 * own call is.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mpi.h>

#include "extents.h"
#include "view.h"

/* How many different views of one file are captured. */
#define CAPTURE_MAX_VIEWS 1000

/*
 * Bytes that the views of one file may have, on one rank and of all ranks where they differ: with
 * the blanks of a spec they become more, which VS_SPEC_MAX_BYTES bounds.
 */
#define CAPTURE_MAX_TEXT (32 << 20)

/* One of the different views that this rank has set. A view's tile is that of view.h. */
struct capture_known {
    uint64_t draft; /* fingerprint of the view as it was set */
    uint64_t hash;  /* of text */
    char *text;     /* JSON as capture_view_text writes it, or "!" and why there is none; owned */
    struct capture_tile tile;
};

/* A call of MPI_File_set_view. */
struct capture_view_call {
    size_t known;  /* which of the file's */
    int64_t reach; /* bytes of the view up to the last one accessed until the next call; -1: not
                      known; under accesses.c's lock until the file is closed */
};

struct capture_file {
    struct capture_file *next;
    MPI_File handle;
    MPI_Comm comm; /* of the file's processes; errors return */
    int rank, ranks;
    char *path;     /* absolute; owned */
    bool temporary; /* deleted when it is closed */
    bool broken;    /* a step is missing for want of memory */
    struct capture_known *known;
    size_t known_count;
    size_t known_bytes; /* of all their texts */
    int64_t work;       /* done for fingerprints, in numbers (fingerprint.h) */
    struct capture_view_call *steps;
    size_t step_count, step_room;
    struct capture_accesses {
        bool counted;         /* the view is one of all bytes from origin on */
        int64_t origin, unit; /* bytes; offsets count units */
        MPI_Datatype type;    /* of the last access */
        MPI_Datatype leaf;    /* the basic type that all had; MPI_DATATYPE_NULL: none, or several */
        struct capture_extents extents[2]; /* read, written */
    } accesses;                            /* under accesses.c's lock until the file is closed */
};

/*
 * Collective over comm. A communicator of the same processes whose errors return, without a copy of
 * its attributes; MPI_COMM_NULL where there is none. The caller's to free.
 */
MPI_Comm capture_copy_comm(MPI_Comm comm);

/* Collective over comm. MPI_File_open made this file of that name, as the program wrote it. */
void capture_opened(MPI_Comm comm, const char *name, int mode, MPI_File handle);

/*
 * MPI_File_set_view was called, and failed where code is not MPI_SUCCESS. Local. The datatypes are
 * borrowed.
 */
void capture_view_set(MPI_File handle, int code, MPI_Offset displacement, MPI_Datatype etype,
                      MPI_Datatype filetype, const char *datarep);

/* The file of that handle, which stays until it is taken; NULL where it is not in the list. */
struct capture_file *capture_find(MPI_File handle);

/* "!" and why, new; NULL without memory. */
char *capture_because(const char *why);

/*
 * Takes a file, or the one opened first where handle is MPI_FILE_NULL, from the list: the caller's
 * to capture_file_free. NULL where it is not there.
 */
struct capture_file *capture_take(MPI_File handle);

/* Collective over the file's communicator. NULL is allowed. */
void capture_file_free(struct capture_file *file);

#endif
