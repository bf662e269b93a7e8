/* SPDX-License-Identifier: MIT */
#ifndef VS_SYNTAX_H
#define VS_SYNTAX_H

/* Private to viewspec/: errors of texts that are not valid JSON. */

#include <jansson.h>

#include "viewspec/base/place.h"

/*
 * Fills error with the reason why jansson could not parse a text, and the position. The text ends
 * with a zero byte, which length does not count. Returns -EINVAL, -ENOMEM, or the code of an
 * earlier error, which is kept.
 */
int vs_syntax_fail(const struct vs_text *text, const json_error_t *json, struct vs_error *error);

#endif
