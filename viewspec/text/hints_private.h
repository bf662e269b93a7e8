/* SPDX-License-Identifier: MIT */
#ifndef VS_HINTS_PRIVATE_H
#define VS_HINTS_PRIVATE_H

/* Private to viewspec/: the spec's "hints". */

#include <jansson.h>

#include "viewspec/base/place.h"

/* Checks that each hint is a string. Returns 0 or a negative errno, with error filled. */
int vs_hints_check(const struct vs_text *text, json_t *root, struct vs_error *error);

#endif
