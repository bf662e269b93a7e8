/* SPDX-License-Identifier: MIT */
#ifndef FROM_BRICK_H
#define FROM_BRICK_H

/* Values that a text header describes: one block of bytes, in the header's own file or in another
   one, or blocks of equal size in several files. */

#include "from.h"
#include "text.h"

/* The value of disp if the block is at the end of its file. */
#define FROM_AT_END (-1)

/* Starts with path and file set, and everything else zero. Release it with from_brick_free. */
struct from_brick {
    const char *path; /* of the header */
    struct from_file *file;
    char **names;       /* paths of the data files, in the order of the values */
    size_t count, room; /* 0: the values are in the header's file */
    int64_t bytes;      /* of all values */
    int64_t start;      /* displacement in each file from which lines are counted */
    int64_t lines;      /* lines of text to skip from start */
    int64_t disp;       /* of the block, from the end of these lines; or FROM_AT_END */
    json_t *view;       /* of the members; NULL: the blocks follow each other */
};

void from_brick_free(struct from_brick *brick);

/* Adds a data file. A relative name is resolved against the header's folder. Returns 0 or -ENOMEM.
 */
int from_brick_add(struct from_brick *brick, struct from_span name);

/* Adds the files named by a printf pattern with one %d, for the numbers min to max. Returns 0,
   -ENOMEM, or -EINVAL if the pattern or the numbers cannot be used. */
int from_brick_add_numbered(struct from_brick *brick, struct from_span pattern, int64_t min,
                            int64_t max, int64_t step);

/*
 * Ends the reading of a header, with code if that is not 0, and frees the brick. Without an error,
 * moves the file's variables, whose displacements count from the first value, to the data files.
 * Adds the first header bytes of the header's file, which has size bytes, to the parts that the
 * spec checks. Refuses the variables if the block cannot be found. Returns 0, or a negative errno
 * with error filled.
 */
int from_brick_finish(struct from_brick *brick, int code, int64_t header, int64_t size,
                      struct vs_error *error);

/* Adds a variable that is named after the header, without its suffix. Returns NULL if memory is
   exhausted. */
struct from_variable *from_brick_variable(const struct from_brick *brick);

#endif
