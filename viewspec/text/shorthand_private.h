/* SPDX-License-Identifier: MIT */
#ifndef VS_SHORTHAND_PRIVATE_H
#define VS_SHORTHAND_PRIVATE_H

/* Private to viewspec/: the JSON of a view in shorthand. */

#include "scope.h"

/*
 * Translates text as vs_shorthand_json does, but returns the JSON itself, a new reference. Sets
 * places, also a new reference, to the origin of each value: JSON pointer -> byte offset in text.
 * Errors use names, which may be NULL.
 */
json_t *vs_shorthand_translate(const char *text, const char *source, const struct vs_names *names,
                               const char *const *defines, size_t define_count, json_t **places,
                               struct vs_error *error);

#endif
