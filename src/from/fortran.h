/* SPDX-License-Identifier: MIT */
#ifndef FROM_FORTRAN_H
#define FROM_FORTRAN_H

#include "from.h"

/*
 * Records of sequential unformatted Fortran files. Each record lies between two markers with its
 * length. gfortran divides records above 2 GiB into subrecords with markers of their own. The
 * marker before a subrecord is negative if another one follows, the marker after it if one
 * precedes.
 */

struct from_markers {
    int width; /* 4 or 8 bytes */
    bool big;  /* big-endian */
};

/* A part of a record between two markers. */
struct from_piece {
    int64_t at, bytes;
};

/* Initialize it with zeros. The caller frees list. */
struct from_pieces {
    struct from_piece *list;
    size_t count, room;
};

/* The maximum number of subrecords in a record. gfortran's subrecords have 2 GiB each. */
#define FROM_SUBRECORDS_MAX 16384

struct from_record {
    int64_t bytes; /* of data */
    int64_t end;   /* the displacement after the last marker */
    int64_t subrecords;
    int64_t wrong; /* the displacement where it is damaged */
    char why[128];
};

/*
 * Reads the markers of the record that begins at displacement at, and adds its pieces to pieces
 * unless that is NULL. Returns 0, -ENOMEM, or -EINVAL with wrong and why filled.
 */
int from_record(const struct from_source *source, const struct from_markers *markers, int64_t at,
                struct from_record *record, struct from_pieces *pieces);

/*
 * Finds the kind of markers with which most records follow each other from displacement at. Returns
 * the number of these records, up to 4, or 0 if there are none. If strict is set, a kind with a
 * damaged record does not count.
 */
int from_find_markers(const struct from_source *source, int64_t at, bool strict,
                      struct from_markers *markers, struct from_record *first);

/* Sequential unformatted Fortran files: a variable of bytes for each record. */
extern const struct from_format from_fortran;

/*
 * Adds the variable "recordA-B", whose rows are records A to B of the same length. Returns its
 * number, -ENOENT if the name does not have this form, or a negative errno with error filled.
 */
long from_fortran_rows(struct from_file *file, const char *name, struct vs_error *error);

#endif
