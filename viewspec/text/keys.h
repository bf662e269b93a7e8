/* SPDX-License-Identifier: MIT */
#ifndef VS_KEYS_H
#define VS_KEYS_H

/* Private to viewspec/: what is checked of every object, and of what was built from it. */

#include <jansson.h>

#include "viewspec/base/arena.h"
#include "viewspec/base/place.h"

/*
 * Checks that object is one and has none but the given keys (a list that ends with NULL).
 * Returns 0 or a negative errno.
 */
int vs_check_keys(struct vs_error *error, const struct vs_text *text, const struct vs_place *place,
                  json_t *object, const char *const *keys);

/* Notes what went wrong in arena, if anything. Returns 0 or a negative errno. */
int vs_check_arena(struct vs_arena *arena, struct vs_error *error, const struct vs_text *text,
                   const struct vs_place *place);

#endif
