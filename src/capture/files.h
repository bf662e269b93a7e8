/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_FILES_H
#define CAPTURE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "datatype.h"
#include "views.h"

/* Converts one rank's view, as set by MPI_File_set_view (MPI 3.1, 13.3), to viewspec(5). */

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
 * Returns the view as new compact JSON text, which the caller frees with free(), and its tile. Its
 * keys are disp, etype, filetype (omitted if it is the etype) and datarep (omitted if it is
 * native). Compiles the view, and checks that its tile has the size and the extent of MPI's
 * filetype. Returns NULL on failure, and the reason in why (of CAPTURE_WHY_SIZE bytes). Local.
 *
 * MPI requires the filetype to be built from the etype, but does not check that. If it is not, the
 * text has another etype that selects the same bytes: the filetype's own basic type, or byte.
 */
char *capture_view_text(const struct capture_view_args *args, struct capture_tile *tile, char *why);

/* The text of the default view, which a file has after it is opened. */
#define CAPTURE_DEFAULT_VIEW "{\"disp\":0,\"etype\":\"byte\"}"

/*
 * The MPI files that the process has open and the views set on them. All functions are thread-safe.
 * Some are collective over the file's communicator, as noted; call them where MPI's own call is.
 */

/* The maximum number of different captured views of one file. */
#define CAPTURE_MAX_VIEWS 1000

/*
 * The maximum size in bytes of the texts of a file's views, on one rank, and of all ranks if they
 * differ. Indentation makes a spec longer; VS_SPEC_MAX_BYTES limits that.
 */
#define CAPTURE_MAX_TEXT (32 << 20)

/* A view that this rank has set, different from its others. */
struct capture_known {
    uint64_t draft; /* fingerprint of the view's arguments */
    uint64_t hash;  /* of text */
    char *text;     /* JSON of capture_view_text, or "!" and the reason why there is none; owned */
    struct capture_tile tile;
};

/* A call of MPI_File_set_view. */
struct capture_view_call {
    size_t known; /* index into the file's known views */
    /* bytes of the view up to the last one accessed before the next call; -1: unknown; under
       accesses.c's lock until the file is closed */
    int64_t reach;
};

struct capture_file {
    struct capture_file *next;
    MPI_File handle;
    MPI_Comm comm; /* a communicator of the file's processes that returns errors */
    int rank, ranks;
    char *path;     /* absolute; owned */
    bool temporary; /* deleted when it is closed */
    bool broken;    /* a step is missing because memory was exhausted */
    struct capture_known *known;
    size_t known_count;
    size_t known_bytes; /* total size of their texts */
    int64_t work;       /* numbers hashed for fingerprints (datatype.h) */
    struct capture_view_call *steps;
    size_t step_count, step_room;
    struct capture_accesses {
        bool counted;                      /* the view has all bytes from origin on */
        int64_t origin, unit;              /* bytes; offsets are in units */
        MPI_Datatype type;                 /* of the last access */
        const struct vs_basic *leaf;       /* that all accesses have; NULL: none, or several */
        struct capture_extents extents[2]; /* read, written */
    } accesses;                            /* under accesses.c's lock until the file is closed */
};

/*
 * Creates a communicator of the same processes that returns errors, without a copy of the
 * attributes. Returns MPI_COMM_NULL on failure. The caller frees it. Collective over comm.
 */
MPI_Comm capture_copy_comm(MPI_Comm comm);

/* Records that MPI_File_open has opened a file of that name, as the program wrote it. Handles are
   words, as in struct capture_hooks. Collective over comm. */
void capture_opened(intptr_t comm, const char *name, int mode, void *handle);

/*
 * Records a call of MPI_File_set_view, which failed if code is not MPI_SUCCESS. Local. The
 * datatypes are borrowed.
 */
void capture_view_set(struct capture_file *file, int code, MPI_Offset displacement,
                      MPI_Datatype etype, MPI_Datatype filetype, const char *datarep);

/* Returns the file of that handle, which is valid until it is taken; NULL if it is not in the
   list. */
struct capture_file *capture_find(MPI_File handle);

/* Returns new text of "!" and why; NULL if memory is exhausted. */
char *capture_because(const char *why);

/*
 * Removes a file from the list: the one of that handle, or the one opened first if any is true. The
 * caller frees it with capture_file_free. Returns NULL if there is none.
 */
struct capture_file *capture_take(MPI_File handle, bool any);

/* Frees the file, which may be NULL. Collective over the file's communicator. */
void capture_file_free(struct capture_file *file);

/*
 * Accesses of programs that set no view, or one view of all bytes on all ranks. The bytes that a
 * rank accesses become its view. Thread-safe.
 */

/* Call it after capture_view_set of a view with that etype, which is borrowed. Local. */
void capture_accesses_view_set(struct capture_file *file, MPI_Datatype etype);

/*
 * Records that count elements of a type, which is borrowed, are read or written at an offset of the
 * view, in etypes; -1: unknown offset; CAPTURE_SHARED (hooks.h): only the reach of the view is
 * affected. Handles are words, as in struct capture_hooks. Local.
 */
void capture_accesses_add(void *handle, bool writing, int64_t offset, int64_t count, intptr_t type);

/*
 * Makes this rank's view of what was written, or of what was read if no rank has written anything.
 * Collective over the file's communicator, for a file that was taken and closed. Returns false on
 * all ranks if the views that were set show what each rank has accessed, or nothing was accessed.
 * Otherwise *text is the view: JSON of capture_view_text, or "!" and the reason why there is none;
 * new, NULL if memory is exhausted.
 */
bool capture_accesses_view(struct capture_file *file, char **text);

#endif
