/* SPDX-License-Identifier: MIT */
#ifndef FROM_PIECES_H
#define FROM_PIECES_H

/*
 * MITgcm's tiles: where each process writes what it has of an array, there are a .meta and a .data
 * file of each piece, NAME.001.002.meta. They are members (viewspec(5)) of the whole array.
 */

#include "meta.h"

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
