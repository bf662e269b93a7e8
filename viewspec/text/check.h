/* SPDX-License-Identifier: MIT */
#ifndef VS_CHECK_H
#define VS_CHECK_H

#include <jansson.h>

#include "viewspec/base/arena.h"
#include "viewspec/base/place.h"
#include "viewspec/spec.h"

/*
 * Private to viewspec/: checks of a spec's JSON, of its objects, and of the nodes built from them.
 */

/*
 * Fills error with the reason why jansson could not parse a text, and the position. The text ends
 * with a zero byte, which length does not count. Returns -EINVAL, -ENOMEM, or the code of an
 * earlier error, which is kept.
 */
int vs_syntax_fail(const struct vs_text *text, const json_error_t *json, struct vs_error *error);

/*
 * Checks that object is a JSON object and has no keys except the given ones (a list that ends with
 * NULL). Returns 0 or a negative errno.
 */
int vs_check_keys(struct vs_error *error, const struct vs_text *text, const struct vs_place *place,
                  json_t *object, const char *const *keys);

/* Records the failure of arena, if there is one. Returns 0 or a negative errno. */
int vs_check_arena(struct vs_arena *arena, struct vs_error *error, const struct vs_text *text,
                   const struct vs_place *place);

/* Checks that each of the spec's "hints" is a string. Returns 0 or a negative errno, with error
 * filled. */
int vs_hints_check(const struct vs_text *text, json_t *root, struct vs_error *error);

/*
 * header.c: checks the parts of the header and makes the names of their files absolute, relative to
 * folder. Drops the header if overrides set a data representation, because they then belong to
 * another file, whose header is unknown. Returns 0 or a negative errno, with error filled.
 */
int vs_header_settle(const struct vs_text *text, json_t *root, const char *folder,
                     const struct vs_overrides *overrides, struct vs_error *error);

#endif
