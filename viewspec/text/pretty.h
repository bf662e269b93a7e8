/* SPDX-License-Identifier: MIT */
#ifndef VS_PRETTY_H
#define VS_PRETTY_H

#include <jansson.h>

/* Private to viewspec/. */

/*
 * Formats JSON for people: a value that fits on a line is written on one. The caller frees the
 * string by free(). NULL: out of memory. Local, thread-safe.
 */
char *vs_pretty(json_t *json);

#endif
