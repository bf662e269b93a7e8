/* SPDX-License-Identifier: MIT */
#ifndef FROM_PIECES_H
#define FROM_PIECES_H

#include "from.h"

/* The contents of a .meta file of MITgcm. */

#define FROM_FIELD_NAME 64

struct from_meta {
    int dimensions;
    /* for each dimension, the fastest first: the size of the whole array, the first and the last
       index in the file */
    int64_t list[3 * FROM_DIMENSIONS_MAX];
    int64_t size;                    /* bytes of a value */
    int64_t records;                 /* number of arrays in sequence */
    char (*fields)[FROM_FIELD_NAME]; /* their names, owned */
    int64_t field_count;
};

/*
 * Parses the text of the file at path. Returns 0, or a negative errno with error filled. The caller
 * calls from_meta_free in both cases.
 */
int from_meta(const char *text, size_t length, const char *path, struct from_meta *meta,
              struct vs_error *error);
void from_meta_free(struct from_meta *meta);

/* Returns true if the file has the whole array. */
bool from_meta_is_whole(const struct from_meta *meta);

/*
 * MITgcm's tiles: if each process writes its own part of an array, each piece has a .meta and a
 * .data file, NAME.001.002.meta. The pieces are members (viewspec(5)) of the whole array.
 */

/* Returns the length of NAME in the path of a .meta file with such numbers; 0 if it has none. */
size_t from_pieces_name(const char *path);

/*
 * Returns the path of the first .meta file of NAME's pieces, a new string; NULL if there is none or
 * memory is exhausted.
 */
char *from_pieces_find(const char *name);

/*
 * Finds the pieces beside the one at path, which has a numbered name, and whose .meta file has the
 * contents meta. Fills members and parts of file. Returns 0, or a negative errno with error filled
 * if one is damaged or of another array, two have the same values, or values are missing.
 */
int from_pieces(const char *path, const struct from_meta *meta, struct from_file *file,
                struct vs_error *error);

#endif
