/* SPDX-License-Identifier: MIT */
#ifndef VS_TRANSLATE_H
#define VS_TRANSLATE_H

/* Private to viewspec/: JSON that is written, from a shorthand or a spec. */

#include <jansson.h>

#include "error.h"

/*
 * As vs_shorthand_json, but returns the JSON itself, a new reference, and in places, a new
 * reference too, where each value comes from: JSON pointer -> byte offset in text.
 */
json_t *vs_shorthand_translate(const char *text, const char *source, const char *const *defines,
                               size_t define_count, json_t **places, struct vs_error *error);

/*
 * JSON as text for people: what fits on a line stands on one. A new string, the caller's to free();
 * NULL without memory. Local, thread-safe.
 */
char *vs_pretty(json_t *json);

#endif
