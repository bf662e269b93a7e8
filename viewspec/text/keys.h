/* SPDX-License-Identifier: MIT */
#ifndef VS_KEYS_H
#define VS_KEYS_H

/* Private to viewspec/: checks of every object, and of the nodes that were built from it. */

#include <jansson.h>

#include "viewspec/base/arena.h"
#include "viewspec/base/place.h"

/*
 * Checks that object is a JSON object and has no keys except the given ones (a list that ends with
 * NULL). Returns 0 or a negative errno.
 */
int vs_check_keys(struct vs_error *error, const struct vs_text *text, const struct vs_place *place,
                  json_t *object, const char *const *keys);

/* Notes the failure of arena, if there is one. Returns 0 or a negative errno. */
int vs_check_arena(struct vs_arena *arena, struct vs_error *error, const struct vs_text *text,
                   const struct vs_place *place);

#endif
