/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_VIEW_H
#define CAPTURE_VIEW_H

/* One rank's view, as MPI_File_set_view has it (MPI 3.1, 13.3), written as viewspec(5) does. */

#include <mpi.h>

#include "decode.h"

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

#endif
