/* SPDX-License-Identifier: MIT */
#ifndef FROM_PIECES_H
#define FROM_PIECES_H

#include "from.h"

/* What the text of a .meta file of MITgcm says. */

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

/*
 * MITgcm's tiles: where each process writes what it has of an array, there are a .meta and a .data
 * file of each piece, NAME.001.002.meta. They are members (viewspec(5)) of the whole array.
 */

/* How long NAME is in the path of a .meta file that has such numbers; 0: it has none. */
size_t from_pieces_name(const char *path);

/*
 * The path of the first .meta file of NAME's pieces, a new string; NULL where there is none (or no
 * memory).
 */
char *from_pieces_find(const char *name);

/*
 * The pieces beside the one at path, a name with numbers, whose .meta file says meta: fills members
 * and parts of file. 0, or a negative errno with error filled: one is damaged or of another array,
 * two have the same values, some values are in none.
 */
int from_pieces(const char *path, const struct from_meta *meta, struct from_file *file,
                struct vs_error *error);

#endif
