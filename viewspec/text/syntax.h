/* SPDX-License-Identifier: MIT */
#ifndef VS_SYNTAX_H
#define VS_SYNTAX_H

/* Private to viewspec/: errors of texts that are no JSON. */

#include <jansson.h>

#include "viewspec/base/place.h"

/*
 * Fills error with what is wrong with a text that jansson could not parse, and where: in a line of
 * its own words, or jansson's. The text ends with a zero byte, which length does not count. Returns
 * -EINVAL, -ENOMEM, or the code of an earlier error, which is kept.
 */
int vs_syntax_fail(const struct vs_text *text, const json_error_t *json, struct vs_error *error);

#endif
