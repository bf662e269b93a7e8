/* SPDX-License-Identifier: MIT */
#ifndef FROM_RECORDS_H
#define FROM_RECORDS_H

#include "from.h"

/*
 * Records of sequential unformatted Fortran files. A marker before and behind each record has its
 * length. gfortran divides records above 2 GiB into subrecords with markers of their own: one
 * before data is negative if more subrecords follow, one behind it if some precede.
 */

struct from_markers {
    int width; /* 4 or 8 bytes */
    bool big;  /* big-endian */
};

/* A part of a record between two markers. */
struct from_piece {
    int64_t at, bytes;
};

/* Starts zeroed. The caller frees list. */
struct from_pieces {
    struct from_piece *list;
    size_t count, room;
};

struct from_record {
    int64_t bytes, end; /* of data; behind the last marker */
    int64_t subrecords;
    int64_t wrong; /* the byte where it is damaged */
    char why[128];
};

/*
 * Reads the markers of the record that begins at a byte of source, and adds its pieces to pieces,
 * if these are not NULL. Returns 0, -ENOMEM, or -EINVAL with wrong and why filled.
 */
int from_record(const struct from_source *source, const struct from_markers *markers, int64_t at,
                struct from_record *record, struct from_pieces *pieces);

/*
 * Finds the markers of records that begin at a byte of source: those with which most records
 * follow each other. Returns the number of such records, up to 4; 0: there are none. If strict is
 * set, none of them may be damaged.
 */
int from_find_markers(const struct from_source *source, int64_t at, bool strict,
                      struct from_markers *markers, struct from_record *first);

#endif
