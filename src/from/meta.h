/* SPDX-License-Identifier: MIT */
#ifndef FROM_META_H
#define FROM_META_H

/* What the text of a .meta file of MITgcm says. */

#include "from.h"

#define FROM_FIELD_NAME 64

struct from_meta {
    int dimensions;
    int64_t list[3 * FROM_DIMENSIONS_MAX]; /* for each, the fastest first: the size of the whole
                                              array, the first and the last index that are there */
    int64_t size;                          /* bytes of a value */
    int64_t records;                       /* arrays that follow each other */
    char (*fields)[FROM_FIELD_NAME];       /* names of them, owned */
    int64_t field_count;
};

/*
 * Reads the text of the file at path. 0, or a negative errno with error filled; meta is the
 * caller's to from_meta_free in both cases.
 */
int from_meta(const char *text, size_t length, const char *path, struct from_meta *meta,
              struct vs_error *error);
void from_meta_free(struct from_meta *meta);

/* Whether all of the array is there. */
bool from_meta_is_whole(const struct from_meta *meta);

#endif
