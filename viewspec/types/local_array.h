/* SPDX-License-Identifier: MIT */
#ifndef VS_LOCAL_ARRAY_H
#define VS_LOCAL_ARRAY_H

/* Private to viewspec/: the array that a view's "shape" makes of a slice. */

#include "view.h"

/*
 * Reads the list of sizes in value, at place, of an array in C order that has all of whole->etypes
 * elements, of one etype each, whole->element bytes apart in the file. The array is of the arena.
 * 0 or a negative errno, with the scope's error filled.
 */
int vs_local_array(const struct vs_source *source, json_t *value, const struct vs_place *place,
                   struct vs_arena *arena, const struct vs_array *whole,
                   const struct vs_array **result);

#endif
