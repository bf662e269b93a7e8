/* SPDX-License-Identifier: MIT */
#ifndef VS_JSON_H
#define VS_JSON_H

#include <jansson.h>

#include "scope.h"
#include "viewspec/base/arena.h"
#include "viewspec/spec.h"

/*
 * Private to viewspec/: the JSON of a spec. Checks of its text, of its objects and of the nodes
 * built from them; paths in it; its text for people; checksums of file headers.
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
int vs_check_keys(struct vs_scope *scope, const struct vs_place *place, json_t *object,
                  const char *const *keys);

/* Records the failure of arena, if there is one. Returns the code of the error, or 0. */
int vs_check_arena(struct vs_scope *scope, const struct vs_arena *arena,
                   const struct vs_place *place);

/* Returns name, prefixed by folder if it is relative. A new string; NULL: out of memory. */
char *vs_path_from(const char *folder, const char *name);

/*
 * Makes the path under key of an object absolute, relative to folder. Returns 0, or a negative
 * errno with error filled.
 */
int vs_path_settle(struct vs_scope *scope, json_t *object, const char *key, const char *folder);

/*
 * Checks the parts of the header and makes the names of their files absolute. Drops the header if
 * overrides set a data representation, because they then belong to another file, whose header is
 * unknown. Returns 0 or a negative errno, with error filled.
 */
int vs_header_settle(struct vs_spec *spec);

/*
 * Formats JSON for people: a value that fits on a line is written on one. The caller frees the
 * string by free(). NULL: out of memory. Local, thread-safe.
 */
char *vs_pretty(json_t *json);

#endif
