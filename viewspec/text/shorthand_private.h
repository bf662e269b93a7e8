/* SPDX-License-Identifier: MIT */
#ifndef VS_SHORTHAND_PRIVATE_H
#define VS_SHORTHAND_PRIVATE_H

/* Private to viewspec/: the JSON of a view in shorthand. */

#include <jansson.h>

#include "viewspec/error.h"

/*
 * As vs_shorthand_json, but returns the JSON itself, a new reference, and in places, a new
 * reference too, where each value comes from: JSON pointer -> byte offset in text.
 */
json_t *vs_shorthand_translate(const char *text, const char *source, const char *const *defines,
                               size_t define_count, json_t **places, struct vs_error *error);

#endif
