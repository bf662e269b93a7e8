/* SPDX-License-Identifier: MIT */
#ifndef VS_LOCAL_ARRAY_H
#define VS_LOCAL_ARRAY_H

/* Private to viewspec/: the array that "shape" makes of a view's slice. */

#include "view.h"

/*
 * Reads value, at place, a list of sizes, as an array in C order. The array must have whole->etypes
 * elements, each one etype, whole->element bytes apart in the file. It is allocated in the arena.
 * Returns 0 or a negative errno, with the scope's error filled.
 */
int vs_local_array(const struct vs_source *source, json_t *value, const struct vs_place *place,
                   struct vs_arena *arena, const struct vs_array *whole,
                   const struct vs_array **result);

#endif
