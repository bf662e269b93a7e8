/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_FILES_H
#define CAPTURE_FILES_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "datatype.h"
#include "shape.h"

/* One rank's view, as MPI_File_set_view has it (MPI 3.1, 13.3), written as viewspec(5) does. */

struct capture_view_args {
    int rank, ranks; /* of the process in the file's communicator */
    MPI_Offset displacement;
    MPI_Datatype etype, filetype;
    const char *datarep;
};

/*
 * A tile of a view, in bytes: the size of its data (-1: the view was not compiled), the lowest
 * displacement in the first tile, the extent.
 */
struct capture_tile {
    int64_t size, first, extent;
};

/*
 * The view as compact JSON text, new, the caller's to free(): keys disp, etype, filetype (left out
 * where it is the etype) and datarep (left out where it is native). NULL where there is none, and
 * why (of CAPTURE_WHY_SIZE bytes) says what stands against it. Nothing is compiled. Local.
 */
char *capture_view_text(const struct capture_view_args *args, char *why);

/*
 * The text to be used of a view that capture_view_text returned: it was compiled, and its tile has
 * the size and the extent that MPI gives the filetype. New, and tile is that; NULL and why as
 * above. Local.
 *
 * Where the filetype is not built from the etype, as MPI demands but does not check, the text has
 * another etype, by which the same bytes are selected: the filetype's own basic type, or byte.
 */
char *capture_view_check(const struct capture_view_args *args, const char *text,
                         struct capture_tile *tile, char *why);

/* The text of the view that a file has when it is opened. */
#define CAPTURE_DEFAULT_VIEW "{\"disp\":0,\"etype\":\"byte\"}"

/*
 * The MPI files that the process has open and the views set on them. All functions are
 * thread-safe; what is collective over the file's communicator says so, and is called where MPI's
 * own call is.
 */

/* How many different views of one file are captured. */
#define CAPTURE_MAX_VIEWS 1000

/*
 * Bytes that the views of one file may have, on one rank and of all ranks where they differ: with
 * the blanks of a spec they become more, which VS_SPEC_MAX_BYTES bounds.
 */
#define CAPTURE_MAX_TEXT (32 << 20)

/* One of the different views that this rank has set. */
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
    int64_t work;       /* done for fingerprints, in numbers (datatype.h) */
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

/*
 * Accesses of programs that set no view, or one view of all bytes for all ranks. The bytes that a
 * rank has accessed become its view. Thread-safe.
 */

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
