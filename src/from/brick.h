/* SPDX-License-Identifier: MIT */
#ifndef FROM_BRICK_H
#define FROM_BRICK_H

/* The values that a header in text describes: a block of bytes, in the header's own file or in
   another one, or blocks of equal size in several files. */

#include "from.h"
#include "lines.h"

/* A displacement: the block ends with its file. */
#define FROM_AT_END (-1)

/* Starts with path and file set, and all else zero. Owns memory: from_brick_free. */
struct from_brick {
    const char *path; /* of the header */
    struct from_file *file;
    char **names;       /* paths of the data files, in the order of the values */
    size_t count, room; /* 0: the values are in the header's file */
    int64_t bytes;      /* of all values */
    int64_t start;      /* where disp and lines count from in each file */
    int64_t lines;      /* lines of text to skip before disp counts */
    int64_t disp;       /* of the block, or FROM_AT_END */
    json_t *view;       /* of the members, instead of one block behind the other */
};

void from_brick_free(struct from_brick *brick);

/* Adds a data file, which is relative to the header's folder. Returns 0 or -ENOMEM. */
int from_brick_add(struct from_brick *brick, struct from_span name);

/* Adds files that a printf pattern with one %d names, for the numbers min to max. Returns 0,
   -ENOMEM, or -EINVAL if the pattern or the numbers cannot be used. */
int from_brick_add_numbered(struct from_brick *brick, struct from_span pattern, int64_t min,
                            int64_t max, int64_t step);

/*
 * Has the variables of the file, which are placed relative to the first value, lie in the data
 * files, and adds the header (so many bytes of the file of size bytes) to what the spec checks.
 * Variables of which this cannot be said are refused. Returns 0, or a negative errno with error
 * filled.
 */
int from_brick_place(struct from_brick *brick, int64_t header, int64_t size,
                     struct vs_error *error);

/* Adds a variable that is named after the header, without its suffix; NULL without memory. */
struct from_variable *from_brick_variable(const struct from_brick *brick);

#endif
