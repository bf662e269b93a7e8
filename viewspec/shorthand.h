/* SPDX-License-Identifier: MIT */
#ifndef VS_SHORTHAND_H
#define VS_SHORTHAND_H

#include <stddef.h>

#include "error.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/*
 * A view in one line of words instead of JSON (viewspec(5), SHORTHAND), such as
 * "darray 1000x1000 block,cyclic(8) on 2x2 of double at 4096". It is translated to JSON and can
 * express nothing that JSON cannot.
 */

/* The length of the longest shorthand that is accepted, in bytes. */
#define VS_SHORTHAND_MAX_BYTES 65536

/*
 * Translates text to the JSON text of a spec without "file". source is the name that errors carry.
 * Each of the defines ("NAME=VALUE", as for -D) becomes a name of "let", which text can use; they
 * may be NULL if define_count is 0. The caller frees the string by free(). On failure returns NULL
 * and fills error: -EINVAL with line and column in text, or -ENOMEM. Local, thread-safe.
 */
char *vs_shorthand_json(const char *text, const char *source, const char *const *defines,
                        size_t define_count, struct vs_error *error);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
